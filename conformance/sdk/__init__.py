"""Room conformance/sdk."""
