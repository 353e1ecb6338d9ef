"""Room grpc_v2/config."""
