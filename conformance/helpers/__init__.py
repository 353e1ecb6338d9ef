"""Room conformance/helpers."""
