"""Conversion between protobuf messages and the engine's values: messages, receipt handles, settings, batch bodies.

It must not know calls, sessions or connections.
"""
