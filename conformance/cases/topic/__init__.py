"""Room conformance/cases/topic."""
