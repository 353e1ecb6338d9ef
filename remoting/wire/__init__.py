"""Bytes of the remoting protocol: frames, headers, ext fields, JSON values, message layouts, the PROXY prologue.

It must not know request codes, operations or sockets, nor any other room of `remoting`.
"""
