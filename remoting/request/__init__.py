"""Requests: request codes, the class of request tables, required rights, calls, and requests of brokers to clients.

It knows frames and bodies. It must not know what a single processor does, nor sockets.
"""
