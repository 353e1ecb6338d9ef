"""Room emulator/cluster."""
