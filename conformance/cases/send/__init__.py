"""Room conformance/cases/send."""
