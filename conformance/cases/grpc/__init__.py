"""Room conformance/cases/grpc."""
