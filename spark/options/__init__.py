"""Texts of users of the source and sink: options, columns, and positions in queues.

It must not know brokers or Spark's readers and writers.
"""
