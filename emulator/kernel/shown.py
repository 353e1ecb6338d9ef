"""Values of Python calls as text, for error messages."""


def shown(value: object) -> str:
    """Return the repr of a value: in hexadecimal for an int of more digits than Python converts, else its type."""
    try:
        return repr(value)
    except ValueError:  # an int has more than sys.get_int_max_str_digits() digits
        return hex(value) if isinstance(value, int) else f"<{type(value).__name__}>"
