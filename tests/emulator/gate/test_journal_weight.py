"""The byte limit of the journal, which is compared with an estimate of its entries' memory (their weight)."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from extremes import exchange
from remoting_harness import Peer, Port, create, send
from rocketmq_testkit.emulator.config import EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.gate.journal_weight import OUTCOMES, SUBJECTS, _form, weight_of
from rocketmq_testkit.emulator.message.properties import encode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.clients import SubscriptionData
from rocketmq_testkit.emulator.operations.offsets import GetMaxOffset, OffsetResult
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

MIB = 1024 * 1024
SUBSCRIPTIONS = [{"topic": f"{number}"} for number in range(1_100)]
HEARTBEAT = json.dumps(
    {"clientID": "c", "consumerDataSet": [{"groupName": "G", "subscriptionDataSet": SUBSCRIPTIONS}]}
).encode()
PULL = {"consumerGroup": "G", "topic": "T", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4",
        "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*"}  # fmt: skip
MANY = {f"k{number}": "v" for number in range(2_000)}
WORK: dict[str, tuple[int, Callable[[Peer], Any]]] = {
    "sends": (300, lambda peer: send(peer, "T", b"x" * 100, UNIQ_KEY="7F00000100002A139B80B12FD7F", KEYS="k")),
    "pulls": (300, lambda peer: exchange(peer, RequestCode.PULL_MESSAGE, PULL, b"")),
    "heartbeats": (10, lambda peer: exchange(peer, RequestCode.HEART_BEAT, {}, HEARTBEAT)),
    "many properties": (10, lambda peer: send(peer, "T", b"x", queue=0, **MANY)),
    "refused bodies": (50, lambda peer: exchange(peer, RequestCode.HEART_BEAT, {}, b"{" * 200_000)),
    "refused messages": (50, lambda peer: send(peer, "T", b"x" * 200_000, queue=99)),
    "long texts": (50, lambda peer: exchange(peer, RequestCode.GET_MAX_OFFSET, {**PULL, "topic": "x" * 20_000}, b"")),
}  # fmt: skip


def port_of(emulation: EmulationConfig | None = None) -> tuple[Port, Peer]:
    """Create a port with a topic, and a client of it."""
    port = Port(Engine(now_ms=1_700_000_000_000, emulation=emulation))
    peer = port.peer()
    create(peer, "T", 2)
    return port, peer


@pytest.mark.parametrize(("count", "work"), WORK.values(), ids=WORK)
def test_the_journal_size_estimate_is_near_the_memory_that_clearing_frees(
    count: int, work: Callable[[Peer], Any]
) -> None:
    """The estimate is between half and three times the memory that is freed when the journal is cleared."""
    port, peer = port_of()
    journal = port.engine.journal
    work(peer)
    journal.clear()
    tracemalloc.start()
    for _ in range(count):
        work(peer)
    before = tracemalloc.get_traced_memory()[0]
    estimate = journal.held_bytes
    journal.clear()
    freed = before - tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert freed / 2 < estimate < 3 * freed
    assert journal.held_bytes == 0


def test_journal_entries_beyond_the_byte_limit_evict_the_oldest() -> None:
    """When heavy entries exceed the limit, the oldest are dropped and counted; the newest stay."""
    port, peer = port_of(EmulationConfig(journal_max_bytes=MIB))
    journal = port.engine.journal
    journal.report_backlog(lambda: None)  # packs no entry, so that few entries reach the limit
    for _ in range(20):
        exchange(peer, RequestCode.HEART_BEAT, {}, HEARTBEAT)
    assert MIB / 2 < journal.held_bytes <= MIB
    assert journal.dropped == journal.written - len(journal) > 0
    assert next(iter(reversed(journal.newest(1)))).label == "HEART_BEAT"
    for _ in range(3_000):
        exchange(peer, RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"}, b"")
    assert {entry.label for entry in journal} == {"GET_MAX_OFFSET"}
    assert MIB / 2 < journal.held_bytes <= MIB


def test_a_journal_with_a_limit_of_zero_bytes_keeps_no_entry() -> None:
    """A journal with a limit of 0 bytes keeps no entry and counts all as dropped."""
    port, peer = port_of(EmulationConfig(journal_max_bytes=0))
    exchange(peer, RequestCode.HEART_BEAT, {}, HEARTBEAT)
    journal = port.engine.journal
    assert (len(journal), journal.held_bytes) == (0, 0)
    assert journal.dropped == journal.written > 0


def test_the_journal_size_is_the_sum_over_its_kept_entries() -> None:
    """After any number of entries the total weight is the sum over the entries that are kept."""
    port, peer = port_of(EmulationConfig(journal_max_entries=7))
    for number in range(50):
        send(peer, "T", b"x", queue=0, **{f"k{number}": "v" * number})
    journal = port.engine.journal
    held = [(entry.subject, entry.outcome) for entry in journal]
    assert journal.held_bytes == sum(
        SUBJECTS[type(subject)](subject) + OUTCOMES[type(outcome)](outcome) for subject, outcome in held
    )
    assert len(held) == 7


def test_properties_of_unknown_length_are_weighed_without_separators() -> None:
    """The store counts the length of properties; if it did not, they are weighed one by one without separators."""
    properties = {f"k{number}": "v" * 50 for number in range(20)}
    decoded, counted = (
        SendMessage("PG", "T", 0, b"", properties, ("h", 1), 0, properties_length=length)
        for length in (len(encode(properties)), 0)
    )
    weigh = SUBJECTS[SendMessage]
    assert weigh(decoded) - weigh(counted) == 2 * len(properties)  # the separators


def test_texts_weigh_their_length_and_shared_or_empty_values_weigh_nothing() -> None:
    weigh = SUBJECTS[GetMaxOffset]
    assert weigh(GetMaxOffset("x" * 1_000, 0)) - weigh(GetMaxOffset("", 0)) == 1_000
    assert weight_of(SubscriptionData("t", tags=frozenset({"a" * 500}))) > weight_of(SubscriptionData("t")) + 500
    assert OUTCOMES[OffsetResult](OffsetResult(5)) == 0
    assert OUTCOMES[Done](Done("remark")) == 0


@pytest.mark.parametrize(
    ("hint", "form"),
    [
        (int, "number"),
        (Annotated[int, 64], "number"),
        (int | None, "number"),
        (str, "text"),
        (bytes, "text"),
        (str | None, "optional text"),
        (tuple[str, int], "number"),
        (dict[str, str], "texts"),
        (list[str], "more"),
    ],
)
def test_the_type_of_a_field_determines_the_form_in_which_it_is_weighed(hint: object, form: str) -> None:
    """Numbers weigh 0, and so do addresses, because all requests of a connection share one object."""
    assert _form(hint) == form
