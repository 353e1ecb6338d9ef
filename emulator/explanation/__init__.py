"""Explanation: why a message was or was not delivered, or why a consumer is idle, as one sentence and as data.

It reads the engine through `inspection` and `history`, and changes nothing. It must not know protocols or pages.
"""
