"""Room conformance/cases/store."""
