"""Cases of sending: single messages, batches, replies, size limits, and messages that consumers send back.

They must not know the target: they talk to it only through `context`. Other rooms may import their helpers.
"""
