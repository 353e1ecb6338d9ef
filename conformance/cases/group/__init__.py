"""Cases of consumer groups and their offsets.

They must not know the target: they talk to it only through `context`.
"""
