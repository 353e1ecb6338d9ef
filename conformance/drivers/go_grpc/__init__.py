"""Driver of the Go SDK of the gRPC protocol."""
