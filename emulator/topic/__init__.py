"""Room emulator/topic."""
