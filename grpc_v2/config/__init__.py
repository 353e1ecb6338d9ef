"""Configuration keys of the gRPC proxy, and the parsers of keys that hold lists.

It must not know protobuf messages, services or connections.
"""
