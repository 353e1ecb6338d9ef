"""Room conformance/cases/group."""
