"""Texts of clients in the history: without secrets, and of limited length."""

from ..kernel.masking import masked

TEXT_MAX = 200
"""The maximum number of characters."""


def short_text(text: object) -> str:
    """Return a text of a client with its secrets masked, cut to TEXT_MAX characters; empty for None."""
    return "" if text is None else str(masked("", text))[:TEXT_MAX]
