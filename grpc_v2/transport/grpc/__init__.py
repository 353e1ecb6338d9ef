"""Room grpc_v2/transport/grpc."""
