"""Cases of the gRPC proxy: its RPCs, telemetry streams, and the gRPC server below them.

They must not know the target: they talk to it only through `context`.
"""
