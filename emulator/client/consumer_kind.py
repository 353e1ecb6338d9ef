"""Kinds of consumers: if a broker learns their progress, and the time that a jump of the clock waits for them.

A consumer states a consume type and a message model in its heartbeat. They decide its kind. This module must not know
sessions, requests or the clock: the registry, the deliveries, the clock of the fixtures and the auditor read its table.
Source: ConsumeType, MessageModel (5.3.3).
"""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY
from enum import Enum

from ..kernel.value_class import frozen_value
from ..operations.clients import ACTIVELY, BROADCASTING, CLUSTERING, PASSIVELY


class JumpWait(Enum):
    """The time that a jump of the clock waits for an action of a client."""

    UNTIL_DONE = "until the client has acted"
    BRIEF = "for a moment, because the client may legitimately not act"
    NONE = "not at all"


@frozen_value
class ConsumerKind:
    """One kind of consumer, and the actions for which a jump of the clock waits."""

    name: str
    consume_type: str
    message_model: str
    reports_progress: bool
    """True if the broker learns which messages the consumer has processed: it commits offsets or acknowledges."""
    _: KW_ONLY
    pulled: JumpWait
    """For the progress of messages that it pulled: a committed offset above them, or a message that it sends back."""
    popped: JumpWait
    """For the progress of messages that it popped or that a gRPC receive returned: an acknowledgement, or a change of
    the invisible duration."""
    next_poll: JumpWait
    """For its next long poll after the end of one."""
    first_request: JumpWait
    """For its first request of a queue with messages."""


CONSUMER_KINDS = (
    # A push consumer of either protocol: DefaultMQPushConsumer (by pull or pop), PushConsumer of the gRPC SDKs.
    ConsumerKind(
        "push consumer",
        PASSIVELY,
        CLUSTERING,
        reports_progress=True,
        pulled=JumpWait.UNTIL_DONE,
        popped=JumpWait.UNTIL_DONE,
        next_poll=JumpWait.BRIEF,
        first_request=JumpWait.UNTIL_DONE,
    ),
    ConsumerKind(
        "broadcasting push consumer",
        PASSIVELY,
        BROADCASTING,
        reports_progress=False,
        pulled=JumpWait.NONE,
        popped=JumpWait.UNTIL_DONE,
        next_poll=JumpWait.BRIEF,
        first_request=JumpWait.NONE,
    ),
    # DefaultLitePullConsumer pulls, SimpleConsumer of the gRPC SDKs pops. Both are registered alike.
    ConsumerKind(
        "pull or simple consumer",
        ACTIVELY,
        CLUSTERING,
        reports_progress=True,
        pulled=JumpWait.NONE,
        popped=JumpWait.BRIEF,
        next_poll=JumpWait.NONE,
        first_request=JumpWait.NONE,
    ),
    ConsumerKind(
        "broadcasting pull consumer",
        ACTIVELY,
        BROADCASTING,
        reports_progress=False,
        pulled=JumpWait.NONE,
        popped=JumpWait.BRIEF,
        next_poll=JumpWait.NONE,
        first_request=JumpWait.NONE,
    ),
)
"""All kinds. A change of this table changes the jumps of the clock and the auditor."""


def _by_modes(kinds: Iterable[ConsumerKind]) -> Mapping[tuple[bool, bool], ConsumerKind]:
    """Index kinds by (is the consume type PASSIVELY, is the message model BROADCASTING).

    Raises AssertionError for a second kind with the same modes.
    """
    found: dict[tuple[bool, bool], ConsumerKind] = {}
    for kind in kinds:
        modes = (kind.consume_type == PASSIVELY, kind.message_model == BROADCASTING)
        if modes in found:
            raise AssertionError(f"{kind.name} has the modes of {found[modes].name}")
        found[modes] = kind
    return found


_BY_MODES = _by_modes(CONSUMER_KINDS)


def kind_of(consume_type: str, message_model: str) -> ConsumerKind:
    """Return the kind of a consumer by the modes in its heartbeat.

    Other consume types, such as CONSUME_POP, count as ACTIVELY, and other message models as CLUSTERING.
    """
    return _BY_MODES[consume_type == PASSIVELY, message_model == BROADCASTING]
