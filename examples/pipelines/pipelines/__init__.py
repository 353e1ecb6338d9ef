"""Streams from topic to topic, on PySpark."""
