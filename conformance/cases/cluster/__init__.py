"""Room conformance/cases/cluster."""
