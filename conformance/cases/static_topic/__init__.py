"""Cases of static topics: logical queues and their mapping to physical queues.

They must not know the target: they talk to it only through `context`.
"""
