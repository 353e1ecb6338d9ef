"""Reactions of real SDKs to faults: one workload for each kind of fault, observed with each SDK and recorded.

It must not state a reaction that no run has observed.
"""
