"""Room emulator/client."""
