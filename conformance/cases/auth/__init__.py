"""Room conformance/cases/auth."""
