"""Room conformance/cases/schedule."""
