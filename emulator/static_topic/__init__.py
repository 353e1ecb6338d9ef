"""Static topics: logical queues whose parts are on several brokers, and the mapping to the physical queues.

Rewrites requests and responses; other brokers are reached through a callback. Must not know protocols.
"""
