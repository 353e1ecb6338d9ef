"""The assembly of a broker: the order in which it builds its rooms, and the timers that each room declares."""

import ast
from pathlib import Path

import floors
import pytest
from rocketmq_testkit.emulator.kernel.timer_kind import TimerKind

ROOT = Path(__file__).resolve().parents[2]
BROKER = ast.parse((ROOT / "emulator" / "cluster" / "broker.py").read_text())
BUILT = [
    room for room in floors.ROOMS["emulator"] if room != "assembly" and (ROOT / "emulator" / room / "room.py").exists()
]
"""The rooms that a broker builds, in the order of their list."""
ELSEWHERE = {
    "SHUTDOWN": "engine",
    "BROKER_REGISTRATION": "name server",
    **dict.fromkeys(("SLAVE_SYNCHRONIZATION", "SLAVE_LAG", "TIMER_SYNCHRONIZATION"), "replication"),
    "FAULT": "faults",
    **dict.fromkeys(("GRPC_CLIENT_REQUEST", "GRPC_SESSION", "GRPC_SETTINGS", "RENEWAL"), "proxy"),
    "REDELIVERY": "lists of scheduled events: a timer of the kind REVIVE stands for several",
}
"""The owner of each kind of timers that no room of a broker sets."""


def test_a_broker_builds_its_rooms_in_the_order_of_their_list() -> None:
    """Each `room.py` is built, after those of the rooms that are listed before it."""
    calls = [
        (node.lineno, node.func.value.id)
        for node in ast.walk(BROKER)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "build"
        if isinstance(node.func.value, ast.Name)
    ]
    assert [name.removesuffix("_room") for _, name in sorted(calls)] == BUILT


def kinds_in(node: ast.AST) -> set[str]:
    """Return the kinds of timers that code names."""
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "TimerKind"
    }


def declared_in(room: ast.AST) -> set[str]:
    """Return the kinds that a `room.py` declares, and remove the declaration."""
    found: set[str] = set()
    for node in ast.walk(room):
        if isinstance(node, ast.Call):
            for keyword in [each for each in node.keywords if each.arg == "timer_kinds" and kinds_in(each)]:
                found |= kinds_in(keyword)
                node.keywords.remove(keyword)
    return found


@pytest.mark.parametrize("room", BUILT)
def test_a_room_declares_the_timers_that_its_services_set(room: str) -> None:
    """The argument `timer_kinds` of the room has each kind that a file of its folder names, and no other."""
    files = {path.name: ast.parse(path.read_text()) for path in (ROOT / "emulator" / room).glob("*.py")}
    declared = declared_in(files["room.py"])
    assert declared == set().union(*map(kinds_in, files.values()))


def test_each_kind_of_timers_has_one_owner() -> None:
    """It belongs to a room of a broker, or to a part outside of them."""
    rooms = [declared_in(ast.parse((ROOT / "emulator" / room / "room.py").read_text())) for room in BUILT]
    owned = sorted([*ELSEWHERE, *(kind for kinds in rooms for kind in kinds)])
    assert owned == sorted(name for name in vars(TimerKind) if name.isupper())
