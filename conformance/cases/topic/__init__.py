"""Cases of topics: creation, attributes and deletion.

They must not know the target: they talk to it only through `context`. Other rooms may import their helpers.
"""
