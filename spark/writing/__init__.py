"""Room spark/writing."""
