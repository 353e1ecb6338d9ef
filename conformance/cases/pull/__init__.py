"""Room conformance/cases/pull."""
