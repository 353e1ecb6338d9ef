"""Receipt handles, as cases read and forge them."""

HANDLE_FIELDS = ("start", "popped", "invisible", "revive", "digit", "broker", "queue", "offset")
"""The fields of a handle of the remoting protocol; those of the gRPC protocol have one more. Source: ExtraInfoUtil."""
_ALL = (*HANDLE_FIELDS, "log", "more")


def handle_fields(handle: str) -> dict[str, str]:
    """The fields of a handle; `log` is the place in the commit log, a tenth, if there is one, `more`."""
    return dict(zip(_ALL, handle.split(" "), strict=False))


def forged(handle: str, **fields: object) -> str:
    """A handle with other values in some of its fields."""
    return " ".join(str(value) for value in {**handle_fields(handle), **fields}.values())
