"""gRPC on HTTP/2 streams: calls, messages, metadata, deadlines, health and reflection services, injected faults.

It must not know sockets, nor the meaning of a method.
"""
