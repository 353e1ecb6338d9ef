"""Room emulator/pull."""
