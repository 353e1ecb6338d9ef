"""Cases of transactions: half messages, commits and rollbacks, checks, and half messages that are given up.

They must not know the target: they talk to it only through `context`.
"""
