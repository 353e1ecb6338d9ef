"""Clients for tests: the requests of both protocols as SDKs send them, connections that send them, and responses.

A request is a value that any connection can send. It must not know cases, notes, or how a target starts a broker.
"""
