"""Room emulator/pop."""
