"""Room emulator/filter."""
