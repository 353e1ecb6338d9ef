"""Values of Python calls as text, for error messages."""


def shown(value: object) -> str:
    """Return the repr of a value.

    Python refuses the repr of an int with thousands of digits, and of a value that is nested too deeply. Such an int is
    shown in hexadecimal, and any other such value as its type.
    """
    try:
        return repr(value)
    except RecursionError:
        return f"<{type(value).__name__}>"
    except ValueError:  # an int has more than sys.get_int_max_str_digits() digits
        return hex(value) if isinstance(value, int) else f"<{type(value).__name__}>"
