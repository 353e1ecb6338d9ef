"""Room emulator/transaction."""
