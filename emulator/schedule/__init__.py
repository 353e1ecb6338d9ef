"""Delayed messages: delay levels, the timer wheel, its metrics, and recall of timed messages.

Knows the store and the scheduler. Must not know protocols or consumers.
"""
