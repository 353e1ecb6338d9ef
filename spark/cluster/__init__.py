"""Name servers and brokers: connections, and the topics, queues and offsets read from them.

It must not know rows or columns.
"""
