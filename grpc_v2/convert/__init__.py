"""Room grpc_v2/convert."""
