"""Driver of the Java gRPC SDK, built against its newest and its oldest supported version."""
