"""Room emulator/schedule."""
