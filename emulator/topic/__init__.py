"""Topics: their configuration and validation, and an index of table entries by topic and group.

The room must not know stored messages, groups' offsets or clients.
"""
