"""Explanation: why a message was or was not delivered, or why a consumer is idle, as one sentence and as data."""
