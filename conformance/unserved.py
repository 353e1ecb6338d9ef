"""Requests and behaviors of real brokers that the suite does not compare, each with its reason.

`make pages` writes them as a table into docs/conformance.md. Tests compare that page with this module, and this module
with the table of request codes.
"""

from collections.abc import Iterator, Mapping

from rocketmq_testkit.remoting.request.request_code import RequestCode as Code

_SEVERAL = "a broker's own traffic with its slaves, its controller or its name server: brokers here share a process"

UNSERVED: Mapping[tuple[Code, ...], str] = {
    (
        Code.REGISTER_BROKER,
        Code.UNREGISTER_BROKER,
        Code.REGISTER_TOPIC_IN_NAMESRV,
        Code.QUERY_DATA_VERSION,
        Code.GET_BROKER_MEMBER_GROUP,
        Code.BROKER_HEARTBEAT,
        Code.NOTIFY_MIN_BROKER_ID_CHANGE,
        Code.EXCHANGE_BROKER_HA_INFO,
        Code.NOTIFY_BROKER_ROLE_CHANGED,
    ): _SEVERAL,
}
"""Request codes that upstream handles and the emulator rejects as unknown, with the reason."""

UNCOMPARED: Mapping[str, str] = {
    "the proxy's port for remoting clients": "the emulator has none: remoting clients are answered by the broker",
    "gRPC's channelz": "a door for those who debug upstream's gRPC library; no SDK opens it",
    "whether a notice (40) precedes the answer to its heartbeat": "it does, here too; cases see what came in the end",
    "which of several pops at once finds the queue locked": "a race between upstream's threads; here there is one",
    "which earlier offsets a message about ends of transactions repeats": "a race between two of upstream's threads",
    "what counters of times (315) add up to": "nothing takes any time here; that they are there is held",
    "how many figures a rate has": "3 or 2 with a blank, as its rounds of measuring fall; that all are numbers is held",
    "orders in which SDKs of remoting clients ask at their start": "clients decide; scenarios hold what becomes of it",
}
"""Observations of real brokers that no case checks, with the reason."""


def rows() -> Iterator[str]:
    """Yield the lines of the Markdown table."""
    yield "| what | why not |"
    yield "|---|---|"
    for codes, reason in UNSERVED.items():
        yield f"| {', '.join(f'{code:d} {code.name}' for code in codes)} | {reason} |"
    for what, reason in UNCOMPARED.items():
        yield f"| {what} | {reason} |"
