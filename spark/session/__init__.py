"""Spark sessions that start fast: class data archive, interpreter of workers, and the session of a command.

It must not know the data source.
"""
