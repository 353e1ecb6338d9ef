"""Pull consumption: reading a queue, long polling of pulls, suggested brokers and broadcast offsets.

Pop and peek read through the same queue reader. Knows the store, offsets, topics, groups and clients. Must not know
protocols or pop.
"""
