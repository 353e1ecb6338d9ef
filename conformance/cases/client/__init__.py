"""Cases of connected clients: heartbeats, rebalancing, subscriptions, and requests that the broker sends to clients.

They must not know the target: they talk to it only through `context`.
"""
