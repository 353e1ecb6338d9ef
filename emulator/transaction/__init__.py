"""Transactions: half messages, commit and rollback, op messages, and the transaction check.

Knows the store, topics and offsets. Must not know protocols; producers are reached through a callback and an effect.
"""
