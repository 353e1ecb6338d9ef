"""Driver of the Python SDK of the gRPC protocol.

It carries out commands with the published SDK. It must not know scenarios, or whether the broker is an emulator.
"""
