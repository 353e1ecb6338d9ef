"""Room conformance/cases/message."""
