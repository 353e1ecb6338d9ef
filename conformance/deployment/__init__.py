"""Room conformance/deployment."""
