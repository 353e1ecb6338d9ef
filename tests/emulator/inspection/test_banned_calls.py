"""The room inspection calls no method of the engine that changes a table as a side effect."""

import ast
from pathlib import Path

import pytest
import rocketmq_testkit.emulator.inspection as inspection

FOLDER = Path(inspection.__path__[0])
BANNED = {
    "min_offset": "MessageStore.min_offset notes the read of an empty queue; read `queue.first`",
    "search": "MessageStore.search notes the read of an empty queue",
    "note_empty_read": "it notes the read of an empty queue",
    "queue_lag": "it calls MessageStore.min_offset",
    "take_reset": "it removes a pending reset; read `pending_reset`",
    "drain": "it stores the merge buffer",
    "catch_up": "it advances a compacted log; use `snapshot_of`",
    "in_flight": "Deliveries.in_flight removes expired messages; use `popped_at` and `uses`",
    "poll_ends": "it removes queue uses of clients that have left",
    "subscription": "it creates a subscription from a request; use `compensated`",
    "find_or_create": "it creates a group",
    "blocks": "OrderInfoTable.blocks may set an invisible duration",
    "acknowledge": "it acknowledges",
    "next_producer_channel": "it advances the round robin",
    "next_deadline_ms": "Scheduler.next_deadline_ms drops empty instants",
    "execute": "it writes to the journal",
    "submit": "it writes to the journal",
    "state": "Engine.state and Broker.state store the merge buffer",
    "below": "it draws a random number",
    "first": "CachedQueue.first drops offsets of the cache of KV records",
    "first_offset": "PopKvCache.first_offset drops offsets",
}
"""Names of methods with a side effect, each with the effect and the method to use instead."""


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
def test_file_calls_no_banned_method(file: Path) -> None:
    calls = (node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
    names = {(func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")) for func in calls}
    found = {name: BANNED[name] for name in names & BANNED.keys()}
    assert found == {}


def test_each_banned_name_is_a_method_of_the_engine() -> None:
    """If a method is renamed, its entry must be renamed as well."""
    text = "\n".join(file.read_text() for file in FOLDER.parent.rglob("*.py"))
    assert [name for name in BANNED if f"def {name}(" not in text] == []
