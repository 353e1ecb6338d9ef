"""Room spark/reading."""
