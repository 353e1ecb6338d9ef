"""Splits text as java.lang.String.split does."""


def java_split(text: str, separator: str) -> list[str]:
    """Split text without empty parts at the end. Text without the separator is one part, also if it is empty."""
    parts = text.split(separator)
    if not parts[-1] and len(parts) > 1:
        while parts and not parts[-1]:
            parts.pop()
    return parts
