"""Errors of the protocol itself; what the engine refuses is an EngineError."""


class ProtocolError(Exception):
    """The peer sent bytes that are no remoting protocol. The connection they came on is closed."""
