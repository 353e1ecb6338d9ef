"""Pop consumption: pops, check points, acknowledgements, revive, ordered batches and long polling of pops.

Knows the store, offsets, topics, groups and how to read a queue. Must not know protocols, networks or the engine.
"""
