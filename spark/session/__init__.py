"""Room spark/session."""
