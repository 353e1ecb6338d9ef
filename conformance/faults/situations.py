"""The situations of the matrix: for each kind of fault one rule, and the workload that meets it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rocketmq_testkit.emulator.faults import kinds  # noqa: F401 - fills the table of kinds

from .situation import NAME, Situation

SEND = "SendMessage"
DELIVERIES = ["PopMessage", "PullMessage"]
ONE_SEND: Mapping[str, Any] = {"operation": SEND}
ONE_DELIVERY: Mapping[str, Any] = {"operation": DELIVERIES}
ONE_CHECK: Mapping[str, Any] = {"operation": "CheckTransactionState"}
SERVERS = ["broker-*", "proxy"]
"""Names of all servers but the name server, which remoting clients connect to first."""
BROKER: Mapping[str, Any] = {"broker": "broker-a"}
ALWAYS: Mapping[str, Any] = {"times": None}


def _send(kind: str, sentence: str, more: Mapping[str, Any] | None = None, **parameters: Any) -> Situation:
    return Situation(kind, sentence, parameters=parameters, **{"criteria": ONE_SEND, **(more or {})})


def _delivery(kind: str, sentence: str, more: Mapping[str, Any] | None = None, **parameters: Any) -> Situation:
    given = {"criteria": ONE_DELIVERY, "count": 3, **(more or {})}
    return Situation(kind, sentence, "consume", parameters, **given)


def _check(kind: str, sentence: str, **parameters: Any) -> Situation:
    return Situation(kind, sentence, "transaction", parameters, criteria=ONE_CHECK)


def _connection(kind: str, sentence: str, *, tls: bool = False) -> Situation:
    return Situation(kind, sentence, "start", criteria={"broker": SERVERS}, tls=tls, fresh=True)


def _standing(kind: str, sentence: str, more: Mapping[str, Any] | None = None, **parameters: Any) -> Situation:
    return Situation(kind, sentence, parameters=parameters, **{"criteria": ALWAYS, **(more or {})})


def _route(kind: str, sentence: str, more: Mapping[str, Any] | None = None, **parameters: Any) -> Situation:
    criteria = {"operation": "GetRouteInfo", "topic": "orders", **ALWAYS}
    return Situation(
        kind, sentence, "start", parameters=parameters, **{"criteria": criteria, "fresh": True, **(more or {})}
    )


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
        "the flow control window of the proxy stays closed after the first of three sends of 1 MiB",
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
        "the messages of the first delivery are visible again at once; the consumer needs 1.5 s for each delivery",
        {"listener_ms": 1500},
    ),
    _delivery(
        "skip_delivery", "no message is delivered for 3 s", {"hold_s": 3, "criteria": {**ONE_DELIVERY, **ALWAYS}}
    ),
    _check("drop_push", "the first transaction check is lost"),
    _check("delay_push", "the first transaction check is 1 s late", duration="1s"),
    _check("duplicate_push", "the first transaction check comes twice"),
    _connection("refuse_connection", "the first connection to a broker or proxy is refused"),
    _connection("ignore_connection", "the first connection to a broker or proxy is accepted and gets no response"),
    _connection("fail_tls_handshake", "the TLS handshake of the first connection to a broker or proxy fails", tls=True),
    _standing(
        "stop_broker", "one of two brokers is stopped for 3 s, during four sends", {"count": 4}, **BROKER, duration="3s"
    ),
    _send("restart_broker", "the broker that gets the first of two sends restarts and loses it", {"count": 2}),
    _standing(
        "flap_broker",
        "one of two brokers crashes and starts each second for 4 s, during four sends",
        {"count": 4, "pause_s": 1.5},
        **BROKER,
        down="1s",
        up="1s",
        duration="4s",
    ),
    _standing(
        "stop_name_server",
        "a producer starts and sends while the name server is down for 3 s",
        {"use": "start"},
        duration="3s",
    ),
    _standing(
        "partition",
        "nothing passes between the application and the servers for 2 s",
        {"criteria": {"end": "2s", **ALWAYS}},
        address="127.0.0.1",
    ),
    _route(
        "hide_route",
        "the name server has no route at the first query of a new producer",
        {"criteria": {"operation": "GetRouteInfo", "topic": "orders"}},
    ),
    _route(
        "stale_route", "the route of a new producer names a broker that has stopped", {"count": 4, "stops": "broker-a"}
    ),
    _route(
        "route_to_dead_broker",
        "the route of a new producer has a wrong address of one of two brokers",
        {"count": 4},
        **BROKER,
    ),
    _standing(
        "skew_clock", "the clock of the broker is an hour fast", {"use": "consume", "count": 3}, **BROKER, by="1h"
    ),
    _standing(
        "stop_revive",
        "nothing popped is redelivered for 4 s; the first deliveries fail",
        {"use": "consume", "count": 3, "fails": True},
        duration="4s",
    ),
    _standing("stop_transaction_checks", "no transaction is checked for 3 s", {"use": "transaction"}, duration="3s"),
    _standing(
        "steal_queue_lock",
        "a client that does not exist owns the locks of an orderly group for 3 s",
        {"use": "consume", "count": 3, "orderly": True},
        group=NAME,
        topic=NAME,
        duration="3s",
    ),
    _send("refuse_append", "the disk of the broker is full at the first send"),
    _standing(
        "lose_flush",
        "a message is sent and received; then both brokers lose power, and flushed data is lost, too",
        {"crashes": True},
    ),
    _standing(
        "slave_lag",
        "the slave of a SYNC_MASTER is 2 s behind",
        {"options": {"slaves": 1, "config": {"brokerRole": "SYNC_MASTER", "inSyncReplicas": 2}}},
        delay="2s",
    ),
    _standing(
        "upstream_defect",
        "an application receives three messages, changes the invisible duration of the last one, and acknowledges all; "
        "the emulator has the defect that the changed handle has no effect",
        {"use": "postpone", "count": 3},
        defect="ack_with_changed_handle_is_lost",
    ),
)
"""One situation for each kind, in the order of layers."""

WITHOUT_SITUATION: Mapping[str, str] = {
    "call": "the effect depends on the test's own function, and every SDK gets its response afterwards",
}
"""The kinds without a situation, with the reason."""


def situation(kind: str) -> Situation:
    """Return the situation of a kind. Raises LookupError if there is none."""
    for each in SITUATIONS:
        if each.kind == kind:
            return each
    raise LookupError(f"{kind}: no situation is declared for this kind of fault; add one to SITUATIONS")
