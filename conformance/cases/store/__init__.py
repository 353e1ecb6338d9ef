"""Cases of the store: file deletion, compaction, flush, full disks, LMQs and crashes.

They must not know the target: they talk to it only through `context`. Other rooms may import their helpers.
"""
