"""Room grpc_v2/rules."""
