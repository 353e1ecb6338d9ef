"""Room emulator/message."""
