"""Writes: rows into messages, sends with many requests in flight, and streams that commit with half messages.

It must not know reads, or catalogs and tables.
"""
