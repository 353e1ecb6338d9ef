"""Cases of stored messages: properties, record formats and born hosts.

They must not know the target: they talk to it only through `context`.
"""
