"""The message store: commit log, consume queues, flush, file deletion, compaction, LMQ dispatch, refusals when busy.

It must not know clients, groups or the rules of sending and consuming.
"""
