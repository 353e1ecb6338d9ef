"""The place of the PySpark data source `format("rocketmq")`, imported as `pyspark_rocketmq`.

Spark registers packages of such names by itself. This version has no source yet, so nothing is registered.
"""
