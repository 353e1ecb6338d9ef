"""Classes of more than four fields take the fifth and later ones by keyword.

Ruff has this rule for functions (PLR0917), but it does not see the constructors that decorators make.
"""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
POSITIONAL_MAX = 4
DECORATORS = {"dataclass", "value", "frozen_value", "frozen_view"}
"""Those that make constructors with positional parameters; `parts`, `header` and `bean` make keyword-only ones."""

PER_REQUEST = "made for each request or message: each keyword would take 0.1 µs"
EXCEPTIONS = {
    "emulator/client/client_registry.py": {"Member": "made and copied for each member of each group"},
    "emulator/client/deliveries.py": {
        "InFlight": "made for each message in flight at each jump of the clock",
        "PollEnd": "made for each long poll at each jump of the clock",
    },
    "emulator/client/queue_uses.py": {"QueueUse": "made and copied for each queue of each client"},
    "emulator/faults/events.py": {"ResponseEvent": PER_REQUEST},
    "emulator/faults/occurrence.py": {"Occurrence": PER_REQUEST},
    "emulator/history/events.py": {"RecordedEvent": "made for each recorded delivery of a query"},
    "emulator/message/message.py": {"MessageToStore": PER_REQUEST, "StoredPosition": PER_REQUEST},
    "emulator/message/receipt.py": {"Receipt": PER_REQUEST},
    "emulator/message/stored_record.py": {"Record": PER_REQUEST},
    "emulator/operations/clients.py": {"SubscriptionData": "made for each subscription of each heartbeat"},
    "emulator/operations/consume.py": {
        "AckMessage": PER_REQUEST,
        "BatchAck": PER_REQUEST,
        "ChangeInvisibleTime": PER_REQUEST,
        "Notification": PER_REQUEST,
        "PopMessage": PER_REQUEST,
        "PopResult": PER_REQUEST,
        "PoppedMessage": PER_REQUEST,
        "PullMessage": PER_REQUEST,
        "PullResult": PER_REQUEST,
    },
    "emulator/operations/send.py": {
        "EndTransaction": PER_REQUEST,
        "SendMessage": PER_REQUEST,
        "SendMessageBack": PER_REQUEST,
        "SendResult": PER_REQUEST,
    },
    "emulator/pop/check_point.py": {"Ack": PER_REQUEST, "CheckPoint": PER_REQUEST},
    "emulator/pop/consumer_order_info.py": {"OrderInfo": PER_REQUEST},
    "emulator/pop/pop_batch.py": {"PopBatch": PER_REQUEST},
    "emulator/pop/pop_kv_records.py": {"PopRecord": "made for each message of a pop, and a row of a snapshot file"},
    "emulator/pop/pop_long_polling.py": {"PollingRequest": PER_REQUEST},
    "emulator/pop/pop_merge_buffer.py": {"OffsetStep": PER_REQUEST},
    "emulator/pull/cold_pull_hold.py": {"SuspendedPull": PER_REQUEST},
    "emulator/pull/pull_request_hold.py": {"HeldPull": PER_REQUEST},
    "emulator/pull/queue_reader.py": {"Read": PER_REQUEST},
    "grpc_v2/proxy/auto_renewal.py": {"RenewableMessage": PER_REQUEST},
    "grpc_v2/services/receive.py": {"_Receive": PER_REQUEST},
    "remoting/client/messages.py": {"ReceivedMessage": PER_REQUEST},
    "remoting/server/dispatcher.py": {"_ReceivedRequest": PER_REQUEST},
    "remoting/wire/command.py": {"RemotingCommand": PER_REQUEST},
}


def files() -> list[str]:
    """Return the Python files of the repository, without those that protoc generates."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [name for name in listed if name and not name.endswith("_pb2.py") and (ROOT / name).is_file()]


def positional_classes(source: str) -> Iterator[tuple[str, int]]:
    """Yield name and number of the positional fields of each class that has more than are allowed."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and _makes_positional_constructor(node):
            count = len(_positional_fields(node))
            if count > POSITIONAL_MAX:
                yield node.name, count


def _makes_positional_constructor(node: ast.ClassDef) -> bool:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = ast.unparse(decorator if call is None else call.func).rpartition(".")[2]
        if name in DECORATORS:
            options = {each.arg: ast.unparse(each.value) for each in call.keywords} if call else {}
            return options.get("kw_only") != "True"
    return False


def _positional_fields(node: ast.ClassDef) -> list[str]:
    found: list[str] = []
    for each in node.body:
        if isinstance(each, ast.AnnAssign):
            if ast.unparse(each.annotation).rpartition(".")[2] == "KW_ONLY":
                return found
            options = {}
            if isinstance(each.value, ast.Call):
                options = {option.arg: ast.unparse(option.value) for option in each.value.keywords}
            is_class_variable = ast.unparse(each.annotation).startswith("ClassVar")
            if not is_class_variable and options.get("init") != "False" and options.get("kw_only") != "True":
                found.append(ast.unparse(each.target))
    return found


@pytest.mark.parametrize(
    ("decorator", "fields", "expected"),
    [
        ("dataclass", "a: int; b: int; c: int; d: int; e: int", 5),
        ("dataclass(frozen=True)", "a: int; b: int; c: int; d: int; e: int = 0", 5),
        ("frozen_value", "a: int; b: int; c: int; d: int; e: int; f: int", 6),
        ("dataclass(kw_only=True)", "a: int; b: int; c: int; d: int; e: int", None),
        ("value", "a: int; b: int; c: int; d: int; _: KW_ONLY; e: int", None),
        ("value", "a: int; b: int; c: int; d: int; e: int = field(init=False)", None),
        ("value", "a: int; b: int; c: int; d: ClassVar[int]; e: int", None),
        ("parts", "a: int; b: int; c: int; d: int; e: int", None),
    ],
)
def test_positional_fields_are_counted(decorator: str, fields: str, expected: int | None) -> None:
    found = dict(positional_classes(f"@{decorator}\nclass Row:\n    {fields}\n"))

    assert found.get("Row") == expected


def test_a_class_takes_its_fifth_field_by_keyword() -> None:
    """`_: KW_ONLY` after the fourth field makes later ones keyword-only. Each exception has its reason."""
    found = {(name, each): count for name in files() for each, count in positional_classes((ROOT / name).read_text())}

    allowed = {(name, each) for name, reasons in EXCEPTIONS.items() for each in reasons}
    assert {place: count for place, count in found.items() if place not in allowed} == {}
    assert allowed - found.keys() == set(), "exceptions without need"
