"""Room spark/cluster."""
