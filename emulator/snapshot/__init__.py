"""Snapshots: the durable state of brokers and engine, the format of the snapshot file, and its validation.

It must not know how a run is started or stopped; the cluster room and the engine do that.
"""
