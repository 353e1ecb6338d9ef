"""HTTP/2 (RFC 9113): frames, HPACK, flow control, streams and flood protection of one server connection.

It must not know sockets, the clock, or gRPC.
"""
