"""Room conformance/cases/client."""
