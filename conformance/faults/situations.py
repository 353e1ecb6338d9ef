"""The situations of the matrix: for each kind of fault one rule, and the workload that meets it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rocketmq_testkit.emulator.faults import kinds  # noqa: F401 - fills the table of kinds
from rocketmq_testkit.emulator.faults.fault import KINDS

Use = Literal["send", "consume", "transaction", "start"]
"""The use of an SDK: send messages, consume them, leave a transaction open, or start a producer and send."""
SEND = "SendMessage"
DELIVERIES = ("PopMessage", "PullMessage")


@dataclass(frozen=True, slots=True)
class Situation:
    """One rule and the workload that meets it.

    `sentence`: the fault with its parameters, for readers. `grpc`: parameters for gRPC SDKs, if they differ.
    `criteria`: those of the rule, and how often it fires. `listener_ms`: time that the consumer's listener takes.
    `count`, `size`: messages of the workload, and the size of each body in bytes; `together`: the application sends
    them at the same time. `hold_s`: the rule is removed after this time. `pause_s`: pause before the last message.
    `watch_s`: the observation lasts at least this long after the result.
    """

    kind: str
    sentence: str
    use: Use = "send"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grpc: Mapping[str, Any] = field(default_factory=dict)
    criteria: Mapping[str, Any] = field(default_factory=dict)
    listener_ms: int = 0
    count: int = 1
    size: int = 0
    together: bool = False
    hold_s: float | None = None
    pause_s: float = 0
    watch_s: float = 0.7

    @property
    def layer(self) -> str:
        """The layer of its kind."""
        return KINDS[self.kind].KIND.layer

    def rule(self, protocol: str) -> dict[str, Any]:
        """Return the rule for SDKs of a protocol, as files hold it."""
        parameters = self.grpc if protocol == "grpc" and self.grpc else self.parameters
        once = {} if self.criteria.keys() & OFTEN else {"times": 1}
        often = {name: value for name, value in self.criteria.items() if name in OFTEN and value is not None}
        when = {name: value for name, value in self.criteria.items() if name not in OFTEN}
        then: Any = {self.kind: dict(parameters)} if parameters else self.kind
        return {**({"when": when} if when else {}), "then": then, **once, **often}


OFTEN = frozenset({"times", "nth", "every", "after"})
ONE_SEND: Mapping[str, Any] = {"operation": SEND}
ONE_DELIVERY: Mapping[str, Any] = {"operation": DELIVERIES}
ONE_CHECK: Mapping[str, Any] = {"operation": "CheckTransactionState"}
ALWAYS: Mapping[str, Any] = {"times": None}


def _send(kind: str, sentence: str, more: Mapping[str, Any] | None = None, **parameters: Any) -> Situation:
    return Situation(kind, sentence, parameters=parameters, **{"criteria": ONE_SEND, **(more or {})})


def _delivery(kind: str, sentence: str, more: Mapping[str, Any] | None = None, **parameters: Any) -> Situation:
    given = {"criteria": ONE_DELIVERY, "count": 3, **(more or {})}
    return Situation(kind, sentence, "consume", parameters, **given)


def _check(kind: str, sentence: str, **parameters: Any) -> Situation:
    return Situation(kind, sentence, "transaction", parameters, criteria=ONE_CHECK)


def _connection(kind: str, sentence: str) -> Situation:
    return Situation(kind, sentence, "start", criteria={"broker": "broker-*"})


SITUATIONS: Sequence[Situation] = (
    _send(
        "respond",
        "the first send is refused with SYSTEM_BUSY or TOO_MANY_REQUESTS",
        {"grpc": {"code": "TOO_MANY_REQUESTS"}},
        code="SYSTEM_BUSY",
    ),
    _send("delay_response", "the response to the first send is 1.5 s late", duration="1500ms"),
    _send("drop_response", "the first send is stored, and its response is lost"),
    _send("duplicate_response", "the response to the first send comes twice"),
    _send(
        "reorder_responses",
        "four sends at the same time get their responses in another order",
        {"count": 4, "together": True, "criteria": {**ONE_SEND, **ALWAYS}},
    ),
    _send("wrong_opaque", "the response to the first send belongs to an unknown request"),
    _send("oversized_remark", "the response to the first send has a text of 64 KiB"),
    _send("drop_request", "the first send is lost on its way to the broker"),
    _send("delay_request", "the broker carries the first send out after 5 s", {"watch_s": 6}, duration="5s"),
    _send("duplicate_request", "the first send is carried out twice"),
    _send(
        "throttle",
        "the broker carries out two of four simultaneous sends in a second",
        {"count": 4, "together": True, "criteria": {**ONE_SEND, **ALWAYS}},
        per_second=2,
    ),
    _send("truncate_frame", "the connection ends before the last byte of the response to the first send"),
    _send("corrupt_byte", "the last byte of the response to the first send is wrong"),
    _send("stall_frame", "the response to the first send pauses for 1.5 s after ten bytes", duration="1500ms"),
    _send("drip_frame", "the response to the first send comes at 100 bytes per second", bytes_per_second=100),
    _send("split_frame", "each byte of the response to the first send comes in a packet of its own"),
    _send("garbage_before_frame", "16 bytes that are no frame precede the response to the first send"),
    _send("close_connection", "the connection is closed before the first send is carried out"),
    _send("reset_connection", "the connection is reset before the first send is carried out"),
    _send("half_close_connection", "the broker closes its direction of the connection before the first send is done"),
    _send("go_away", "GOAWAY follows the response to the first of two sends", {"count": 2}),
    _send(
        "withhold_window",
        "the proxy gives no more credit after the first of three sends of 1 MiB",
        {"count": 3, "size": 1 << 20},
    ),
    _send(
        "ignore_pings", "PINGs get no response during a pause of 35 s between two sends", {"count": 2, "pause_s": 35}
    ),
    _delivery("duplicate_delivery", "the first delivery contains each of its messages twice"),
    _delivery("reorder_delivery", "the first delivery contains its messages in reverse order"),
    _delivery("corrupt_checksum", "the checksums of the first delivery do not fit the bodies"),
    _delivery(
        "deliver_to_second_consumer",
        "the messages of the first delivery are visible again at once",
        {"listener_ms": 1500},
    ),
    _delivery(
        "skip_delivery", "no message is delivered for 3 s", {"hold_s": 3, "criteria": {**ONE_DELIVERY, **ALWAYS}}
    ),
    _check("drop_push", "the first transaction check is lost"),
    _check("delay_push", "the first transaction check is 1 s late", duration="1s"),
    _check("duplicate_push", "the first transaction check comes twice"),
    _connection("refuse_connection", "the first connection to a broker or proxy is refused"),
    _connection("ignore_connection", "the first connection to a broker or proxy is accepted and never read"),
    _connection("fail_tls_handshake", "the TLS handshake of the first connection to a broker or proxy fails"),
)
"""One situation for each kind, in the order of layers."""


def situation(kind: str) -> Situation:
    """Return the situation of a kind. Raises LookupError if there is none."""
    for each in SITUATIONS:
        if each.kind == kind:
            return each
    raise LookupError(f"{kind}: no situation is declared for this kind of fault; add one to SITUATIONS")
