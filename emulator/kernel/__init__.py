"""The kernel: time, randomness, errors, response codes and Java's number rules.

It must not know a message, a topic or a protocol, and imports no other room.
"""
