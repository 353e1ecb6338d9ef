"""Messages and their copies.

A message is the set of the stored records with one unique key. Each record is a copy: in the message's own topic, in a
retry topic, a dead letter queue, or a topic in which the broker keeps half, delayed and timed messages.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from enum import StrEnum

from ..kernel.value_class import frozen_view
from .places import Place


class CopyState(StrEnum):
    """The kind of topic in which a copy is stored, and thereby its state."""

    STORED = "stored"
    """In the message's own topic."""
    DELAYED = "delayed"
    """In a queue of a delay level."""
    TIMED = "timed"
    """In the topic of the timer wheel."""
    HALF = "half"
    """In the topic of half messages."""
    DISCARDED = "discarded"
    """In the topic of half messages with too many checks (TRANS_CHECK_MAX_TIME_TOPIC)."""
    RETRY = "retry"
    """In the retry topic of a group."""
    DEAD = "dead"
    """In the dead letter queue of a group."""


@frozen_view
class CopyView:
    """One stored record of a message."""

    place: Place
    state: CopyState
    stored_at_ms: int
    due_ms: int | None
    """The time at which the broker delivers a delayed or timed copy; None for other copies."""
    _: KW_ONLY
    group: str | None
    """The group of a retry or dead copy, and of a delayed copy on its way to a retry topic; None for other copies."""
    retry: int
    """The number of redeliveries before this copy (`reconsumeTimes`)."""
    record: bytes
    """The stored record."""


@frozen_view
class MessageWithCopies:
    """A message with all its copies, the oldest first.

    The other fields are those of the oldest copy in the message's own topic, or else of the oldest copy that is not the
    mark of a recall: a message with which a recall tells the timer wheel to drop a timed message.
    """

    message_id: str
    """The unique key (UNIQ_KEY) that the client set."""
    topic: str
    tag: str | None
    keys: tuple[str, ...]
    _: KW_ONLY
    message_group: str | None
    """The property `__SHARDINGKEY`: the group in which FIFO messages are ordered; None without it."""
    born_at_ms: int
    sender: str
    """The address of the producer (`host:port`)."""
    properties: Mapping[str, str]
    copies: tuple[CopyView, ...]
