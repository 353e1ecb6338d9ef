"""Cases of the remoting protocol on the wire: frames, headers, errors and namespaces.

They must not know the target: they talk to it only through `context`.
"""
