"""The data source as Spark's SQL sees it: checks of options and schemas, and tables of a catalog.

It must not know sessions and commands.
"""
