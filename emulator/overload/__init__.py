"""Room emulator/overload."""
