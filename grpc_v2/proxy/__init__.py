"""Room grpc_v2/proxy."""
