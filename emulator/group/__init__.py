"""Room emulator/group."""
