"""Brokers, the name server, and replication from masters to slaves.

Combines the services of the other rooms. Must not know the engine or protocols.
"""
