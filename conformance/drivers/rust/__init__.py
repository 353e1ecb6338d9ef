"""Driver of the Rust SDK of the gRPC protocol."""
