"""Values that users of source and sink write: options, columns, and positions in queues.

It must not know brokers or Spark's readers and writers.
"""
