"""Room emulator/send."""
