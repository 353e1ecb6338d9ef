"""Reads: batch and stream readers, planning of ranges, pulls, and Arrow columns of stored messages.

It must not know writes, or catalogs and tables.
"""
