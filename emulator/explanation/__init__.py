"""Explanation: what became of a message, and why, as one sentence and as data."""
