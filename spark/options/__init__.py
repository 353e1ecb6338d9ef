"""Room spark/options."""
