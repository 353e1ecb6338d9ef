"""Room conformance/cases/admin."""
