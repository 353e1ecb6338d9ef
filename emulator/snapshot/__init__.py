"""Snapshots: the durable state of brokers and engine, its file and the validation of it, and its loan to forks.

It must not know how a run is started or stopped; the cluster room and the engine do that.
"""
