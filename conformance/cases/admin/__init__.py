"""Cases of administration: configuration, runtime info, broker roles, system topics and message queries.

They must not know the target: they talk to it only through `context`. Other rooms may import their helpers.
"""
