"""Room spark/sql."""
