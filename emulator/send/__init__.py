"""Sending: checks and stores messages and batches, sends failed messages back for retry, pushes replies.

Knows the store, topics, groups and clients. Must not know protocols, or how the stored messages are consumed.
"""
