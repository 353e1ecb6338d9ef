"""The departure of a client, as a clause: when it left, or that it is in no group, or not connected, any more."""

from .clock_text import clock_text


def departure_text(left_ms: int | None, now_ms: int, *, is_connected: bool) -> str:
    """Return `left at 12:00:31`, or what is known of a client whose end was not recorded.

    `left_ms` is the end of its last connection or session in ms since the epoch, None if no end was recorded. Without
    an end and without an open connection, the client was connected to the emulator from which this one was copied.
    """
    if left_ms is not None:
        return f"left at {clock_text(left_ms, now_ms)}"
    return "is in no group any more, and its connection is still open" if is_connected else "is not connected any more"
