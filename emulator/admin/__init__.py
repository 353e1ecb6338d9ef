"""Room emulator/admin."""
