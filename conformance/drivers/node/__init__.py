"""Driver of the Node.js SDK of the gRPC protocol."""
