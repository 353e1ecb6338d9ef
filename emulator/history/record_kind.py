"""Kinds of records of the delivery record."""

from enum import IntEnum


class RecordKind(IntEnum):
    """The event of a record.

    Delivered means that a response or push with the message was written to a client's connection. Acknowledged means
    that the broker accepted its acknowledgement, or a commit of an offset beyond it. The emulator cannot know if a
    listener of the client ran.
    """

    PULLED = 1
    """Messages of a pull were written to the client."""
    POPPED = 2
    """Messages of a pop or of a gRPC receive were written to the client, with an invisible duration."""
    ACKNOWLEDGED = 3
    """The broker accepted acknowledgements."""
    COMMITTED = 4
    """A client committed an offset beyond the messages."""
    RETURNED = 5
    """A client changed the invisible duration, as an SDK does after a failure."""
    SENT_BACK = 6
    """A client sent a pulled message back, to be redelivered later."""
    SKIPPED = 7
    """The proxy popped the messages and did not pass them on: a filter, or a forward to the dead letter queue."""
    NOT_WRITTEN = 8
    """The proxy popped the messages, and the connection was closed or the call was canceled."""
    COMMITTED_TRANSACTION = 9
    """A producer committed the transaction of a half message."""
    ROLLED_BACK = 10
    """A producer rolled the transaction of a half message back."""
    REFUSED_ACKNOWLEDGEMENT = 11
    """The broker refused an acknowledgement, for example because its receipt handle had expired."""
    RENEWED = 12
    """The proxy renewed the invisible duration for its client."""
