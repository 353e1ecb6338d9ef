"""Cases of overload: request thread pools without free threads.

They must not know the target: they talk to it only through `context`.
"""
