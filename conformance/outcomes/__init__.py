"""Room conformance/outcomes."""
