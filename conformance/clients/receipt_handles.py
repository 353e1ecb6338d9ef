"""Receipt handles: their fields, and handles as clients build them."""

HANDLE_FIELDS = ("start", "popped", "invisible", "revive", "digit", "broker", "queue", "offset")
"""Fields of a remoting receipt handle; those of the gRPC protocol have one more. Source: ExtraInfoUtil."""
_ALL = (*HANDLE_FIELDS, "log", "more")


def handle_fields(handle: str) -> dict[str, str]:
    """Split a handle into its fields; `log` is the commit log offset, `more` is a tenth field if there is one."""
    return dict(zip(_ALL, handle.split(" "), strict=False))


def forged(handle: str, **fields: object) -> str:
    """Return a handle with other values in some of its fields."""
    return " ".join(str(value) for value in {**handle_fields(handle), **fields}.values())
