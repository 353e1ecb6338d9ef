"""Clients and helpers that cases use: raw clients of both protocols, unique names, clocks, and notes.

They must not know cases, records, or how a target starts a broker.
"""
