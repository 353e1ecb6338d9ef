"""Subscription groups and their offsets: the group table, the offset tables, and requests for offsets.

It must not know connected clients or the rules of pulls and pops.
"""
