"""Cases of several brokers: routes, clusters, masters and slaves, and the name server's key-value configuration.

They must not know the target: they talk to it only through `context`. Other rooms may import their helpers.
"""
