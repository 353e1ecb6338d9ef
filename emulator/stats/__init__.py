"""Counters: broker statistics by topic and group, and store statistics.

The room only counts. It must not know the components that call it, nor schedule anything.
"""
