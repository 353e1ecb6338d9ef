"""Room conformance/pages."""
