"""Room emulator/snapshot."""
