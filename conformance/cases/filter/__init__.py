"""Room conformance/cases/filter."""
