"""Room emulator/auth."""
