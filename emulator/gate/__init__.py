"""Room emulator/gate."""
