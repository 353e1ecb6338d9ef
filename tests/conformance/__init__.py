"""Room tests/conformance."""
