"""Room conformance/cases/wire."""
