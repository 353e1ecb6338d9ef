"""Errors of the protocol itself. Errors of the engine are EngineError."""


class ProtocolError(Exception):
    """The peer sent bytes that are not the remoting protocol. The connection is closed."""
