"""Room emulator/kernel."""
