"""Room emulator/store."""
