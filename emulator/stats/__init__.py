"""Room emulator/stats."""
