"""Cases of transactions: half messages, commits and rollbacks, checks, and discarded half messages.

They must not know the target: they talk to it only through `context`.
"""
