"""The work of an inspection of one message does not grow with the number of messages."""

from collections.abc import Callable

import pytest
from engine_harness import EngineHarness, make_harness
from inspected import look
from operation_counts import executed_lines
from rocketmq_testkit.emulator.inspection import log_index
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.message.message import MessageToStore

FEW, MANY = 2_000, 16_000


def id_of(number: int) -> str:
    return f"7F0000010A2B18B4AAC2{number:012X}"


def filled(messages: int) -> tuple[EngineHarness, Inspection]:
    """Return a harness with messages in one queue, ten of them in flight, whose log is indexed."""
    harness = make_harness()
    harness.topic("A")
    store = harness.broker.store
    parts = [
        (0, b"tea", f"UNIQ_KEY\x01{id_of(number)}\x02KEYS\x01k{number}\x02".encode()) for number in range(messages)
    ]
    for first in range(0, messages, 1_000):
        whole = MessageToStore("A", 0, b"", {}, harness.now_ms, store.store_host)
        store.append_batch(parts[first : first + 1_000], whole)
    harness.popped("A", count=10, invisible_ms=60_000)
    inspection = look(harness)
    while inspection.extend_index():
        pass
    return harness, inspection


@pytest.fixture(scope="module")
def harnesses() -> tuple[tuple[EngineHarness, Inspection], tuple[EngineHarness, Inspection]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_index, "SEARCHED_BYTES", 1 << 16)
        return filled(FEW), filled(MANY)


LOOKS: dict[str, Callable[[Inspection], object]] = {
    "id": lambda inspection: inspection.find(id_of(5)),
    "key": lambda inspection: inspection.find("k5"),
    "missing id": lambda inspection: inspection.find(id_of(MANY + 1)) or True,
    "receipts of a place": lambda inspection: inspection.receipts("G", inspection.receipts()[0].place),
    "queue": lambda inspection: inspection.queue("broker-a", "A", 0),
    "queues": lambda inspection: inspection.queues("A"),
    "group": lambda inspection: inspection.group("G"),
}


@pytest.mark.parametrize("name", LOOKS)
def test_work_of_a_look_does_not_grow_with_the_messages(
    harnesses: tuple[tuple[EngineHarness, Inspection], tuple[EngineHarness, Inspection]], name: str
) -> None:
    """The allowed growth is one comparison for each block of the index, that is for each 256 KiB of the log."""
    (_, few), (_, many) = harnesses
    for inspection in (few, many):
        assert LOOKS[name](inspection)
    blocks = (MANY - FEW) * 200 // log_index.BLOCK_BYTES
    assert executed_lines(lambda: LOOKS[name](many)) <= executed_lines(lambda: LOOKS[name](few)) + 5 * blocks
