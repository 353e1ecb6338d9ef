"""The error of a case or scenario whose statement does not hold."""


class Contradiction(AssertionError):
    """An observation contradicts the statement of its case."""
