"""Room grpc_v2/transport/http2."""
