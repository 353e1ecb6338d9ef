"""Cases of pulling: pulls, long polling, offsets of broadcasting consumers, and cold-read limits.

They must not know the target: they talk to it only through `context`.
"""
