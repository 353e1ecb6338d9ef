"""Reads tables that mqadmin prints."""

import re


def cells(text: str) -> list[list[str]]:
    """Split lines into columns, which mqadmin separates by two or more blanks or by tabs."""
    return [re.split(r"\s{2,}|\t", line.strip().lstrip("#")) for line in text.splitlines() if line.strip()]
