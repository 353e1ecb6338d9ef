"""Room emulator/static_topic."""
