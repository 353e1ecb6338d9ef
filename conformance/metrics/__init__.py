"""Metrics of real brokers and of the emulator after the same traffic: the traffic, its scrapes, and their comparison.

It must not know how a target exports its metrics: the caller reads the text.
"""
