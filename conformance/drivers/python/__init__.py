"""Driver of the Python SDK of the gRPC protocol."""
