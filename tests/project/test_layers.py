"""The allowed imports between folders and between rooms, checked in the sources."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import floors
import pytest

pytestmark = pytest.mark.xdist_group("layers")
"""The sources are parsed once in a process."""
ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "rocketmq_testkit"
BELOW: dict[str, frozenset[str]] = {
    "emulator": frozenset(),
    "remoting": frozenset({"emulator"}),
    "grpc_v2": frozenset({"emulator"}),
    "fixtures": frozenset({"emulator", "remoting", "grpc_v2"}),
    "testkit": frozenset({"emulator", "fixtures"}),
    "conformance": frozenset({"emulator", "remoting", "grpc_v2", "fixtures"}),
    "spark": frozenset({"emulator", "remoting", "grpc_v2", "fixtures"}),
}
"""Folders of the namespace that the files of a folder may import."""
NOT_IN_THE_ENGINE = frozenset({"asyncio", "random", "secrets", "select", "selectors", "socket", "socketserver", "ssl"})
NOT_IN_THE_ENGINE |= {"concurrent", "multiprocessing", "queue", "subprocess", "threading", "time", "uuid", "datetime"}
"""Modules with clocks, random sources or threads that are not those injected into the engine."""
FOR_COMPILERS = "mypy_extensions.mypyc_attr"
"""Imported only while types are checked or modules are compiled (emulator/kernel/mypyc_attr.py)."""
WITHOUT_A_CLOCK = frozenset({"datetime.UTC", "datetime.datetime", "datetime.timedelta"})
"""Names of those modules that read no clock by themselves."""
CLOCKS_OF_DATETIME = frozenset({"now", "today", "utcnow"})
"""Functions of `datetime.datetime` that read the clock."""
TWISTED = frozenset(
    {
        "remoting/server/twisted_server.py",
        "grpc_v2/transport/twisted_server.py",
        "fixtures/control/http/http_connection.py",
        "fixtures/network/eager_transport.py",
        "fixtures/host/event_loop.py",
        "fixtures/host/grpc_server.py",
        "fixtures/host/servers.py",
        "fixtures/network/tls_by_first_byte.py",
        "fixtures/network/tls_connection.py",
    }
)
"""The files that own connections. All other code is independent of the networking library."""


SUITES = frozenset(f"conformance/{name}.py" for name in ("conftest", "test_conformance", "test_scenarios_of_sdks"))
"""Tests in the package. pytest imports them without their package, so that relative imports fail."""


@dataclass(frozen=True)
class Import:
    """An import: its file and line, the absolute name, and its number of leading dots."""

    file: str
    line: int
    name: str
    level: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {'.' * self.level}{self.name}"

    @property
    def top(self) -> str:
        """The first part of the name."""
        return self.name.split(".")[0]

    @property
    def target(self) -> str | None:
        """The folder of the namespace that is imported, None if it is outside of the namespace."""
        parts = self.name.split(".")
        return parts[1] if not self.level and parts[0] == NAMESPACE and len(parts) > 1 else None


def imports_of(text: str, file: str) -> Iterator[Import]:
    """Yield every import of a source, including those inside functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name, 0)
        elif isinstance(node, ast.ImportFrom):
            # `from a import b` may mean the module a.b.
            before = f"{node.module}." if node.module else ""
            for alias in node.names:
                yield Import(file, node.lineno, before + alias.name, node.level)


def violations(found: Import) -> Iterator[str]:
    """Yield the errors of an import in a file of the package."""
    folder = found.file.split("/")[0]
    depth = found.file.count("/")
    if found.level > depth:
        yield f"{found}: it leaves its folder; write {NAMESPACE}.<folder>"
    if not found.level and found.top in BELOW:
        yield f"{found}: a bare folder name loads the folder a second time; write {NAMESPACE}.{found.top}"
    if found.target == folder:
        if found.file not in SUITES:
            yield f"{found}: inside a folder imports are relative"
    elif found.target is not None and found.target not in BELOW[folder]:
        yield f"{found}: {folder} must not import {found.target}"
    if not found.level and found.top in {"twisted", "zope"} and found.file not in TWISTED:
        yield f"{found}: Twisted belongs to {', '.join(sorted(TWISTED))}"
    if not found.level and found.top in {"grpc", "grpc_status"} and folder != "conformance":
        yield f"{found}: the client side of gRPC is only in the extra `conformance`"
    if found.name == "twisted.internet.reactor":
        yield f"{found}: the reactor is injected; take it as a parameter"
    if folder == "emulator" and not found.level and found.top != NAMESPACE:
        if found.top not in sys.stdlib_module_names and found.name != FOR_COMPILERS:
            yield f"{found}: the engine imports only the standard library"
        if found.top in NOT_IN_THE_ENGINE and found.name not in WITHOUT_A_CLOCK:
            yield f"{found}: time and randomness are injected into the engine, and it has one thread"


def test_the_engine_reads_no_clock_of_datetime() -> None:
    """The engine uses `datetime` only to format the injected time, and calls no function of it that reads a clock."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"
        for path in sorted((ROOT / "emulator").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in CLOCKS_OF_DATETIME
        and ast.unparse(node.value) in ("datetime", "datetime.datetime", "date")
    ]
    assert found == []


def sources() -> list[Path]:
    """Return the Python files of the package, without generated ones."""
    return [
        path
        for folder in BELOW
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.name.endswith("_pb2.py") and "__pycache__" not in path.parts
    ]


def test_folders_import_only_lower_layers() -> None:
    """Folders import only lower layers, and the engine only the standard library.

    The layers are emulator <- remoting, grpc_v2 <- fixtures <- conformance, spark.
    """
    wrong = [
        problem
        for path in sources()
        for found in imports_of(path.read_text(), path.relative_to(ROOT).as_posix())
        for problem in violations(found)
    ]

    assert wrong == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("emulator/x.py", "from rocketmq_testkit.remoting.wire.frame import Frame"),
        ("emulator/x.py", "import orjson"),
        ("emulator/x.py", "import time"),
        ("emulator/x.py", "def f():\n    from random import random"),
        ("remoting/x.py", "from rocketmq_testkit.grpc_v2 import server"),
        ("remoting/x.py", "from rocketmq_testkit import fixtures"),
        ("remoting/bodies/x.py", "from ...fixtures import Emulator"),
        ("remoting/x.py", "from rocketmq_testkit.remoting.wire.frame import Frame"),
        ("remoting/x.py", "from twisted.internet.protocol import Protocol"),
        ("fixtures/x.py", "import emulator.engine"),
        ("grpc_v2/x.py", "from rocketmq_testkit.conformance.drivers import build"),
        ("fixtures/x.py", "def f():\n    import grpc"),
        ("grpc_v2/x.py", "from grpc import StatusCode"),
    ],
)
def test_the_check_finds_each_kind_of_wrong_import(file: str, line: str) -> None:
    assert [problem for each in imports_of(line, file) for problem in violations(each)] != []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("emulator/config/x.py", "from ..errors import EngineError"),
        ("remoting/x.py", "from rocketmq_testkit.emulator.engine import Engine"),
        ("fixtures/x.py", "from rocketmq_testkit.grpc_v2 import server"),
        ("remoting/server/twisted_server.py", "from twisted.internet.protocol import Protocol"),
        ("emulator/x.py", "import json"),
        ("conformance/x.py", "import grpc"),
    ],
)
def test_the_check_accepts_correct_imports(file: str, line: str) -> None:
    assert [problem for each in imports_of(line, file) for problem in violations(each)] == []


TWO = [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize("folder", floors.ROOMS)
def test_a_room_imports_only_rooms_below_it(folder: str) -> None:
    """No import of a folder leads to a room that is listed after the importing one, not even for type checkers."""
    assert floors.steps_up(floors.ROOMS[folder], floors.steps_of(folder)) == []


@pytest.mark.parametrize("folder", floors.ROOMS)
def test_no_files_of_a_folder_import_each_other_in_a_circle(folder: str) -> None:
    """Files import each other in one direction, also inside a room, in functions and for type checkers.

    Two types that refer to each other belong in one file; else one of them takes a Protocol, or a callback.
    """
    assert floors.circles(floors.steps_of(folder)) == []


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ({"a": "from .b import B", "b": "if TYPE_CHECKING:\n    from .a import A"}, [["a", "b"]]),
        ({"a": "from .b import B", "b": "from .c import C", "c": "def f():\n    from .a import A"}, [["a", "b", "c"]]),
        ({"a": "from . import b", "b": "from . import a", "c": "from .d import D", "d": "import json"}, [["a", "b"]]),
        ({"a": "from .b import B", "b": "from .a import A", "c": "from .d import D", "d": "from .c import C"}, TWO),
        ({"a": "from .b import B\nfrom .c import C", "b": "from .c import C", "c": ""}, []),
        ({"a": "from .a import A"}, []),
    ],
)
def test_a_circle_of_imports_is_found(texts: dict[str, str], found: list[list[str]]) -> None:
    """Each circle is one entry with all its files."""
    house = {f"emulator/cellar/{name}.py": text for name, text in texts.items()}

    circles = floors.circles(floors.steps(house))

    assert circles == [[f"emulator/cellar/{name}.py" for name in names] for names in found]


@pytest.mark.parametrize("folder", floors.ROOMS)
def test_the_list_of_rooms_is_complete(folder: str) -> None:
    """The list has exactly the rooms of the tree, each once."""
    assert sorted(floors.ROOMS[folder]) == sorted({floors.room_of(file) for file in floors.sources(folder)})


ROOM_LINES_MAX = 4
BOUNDS = re.compile(r"\bmust\s+(not|know\s+neither)\b", re.IGNORECASE)
"""The words of a docstring that limit what a room knows or does."""
ROOMS = [(folder, room) for folder, order in floors.ROOMS.items() for room in order if not room.endswith(".py")]


@pytest.mark.parametrize(("folder", "room"), ROOMS)
def test_a_room_has_a_docstring(folder: str, room: str) -> None:
    """The docstring of a room has at most four lines.

    The first one is about its idea, which the table of ARCHITECTURE.md shows. The others say what it must not know.
    """
    text = ast.get_docstring(ast.parse((ROOT / folder / room / "__init__.py").read_text())) or ""

    assert text.partition("\n")[0].endswith(".")
    assert not text.startswith("Room ")
    assert len(text.splitlines()) <= ROOM_LINES_MAX
    assert BOUNDS.search(text), "add a sentence with `must not`"


def test_the_table_of_rooms_is_current() -> None:
    """`make pages` would change nothing in ARCHITECTURE.md."""
    assert "\n".join(floors.table()) in (ROOT / "ARCHITECTURE.md").read_text()


@pytest.mark.parametrize(
    "line",
    [
        "from ..attic import view",
        "from ..attic.view import View",
        "from .. import attic",
        "from rocketmq_testkit.emulator.attic import view",
        "import rocketmq_testkit.emulator.attic.view",
        "def f():\n    from ..attic import view",
        "if TYPE_CHECKING:\n    from ..attic.view import View",
    ],
)
def test_an_import_of_a_room_above_is_found(line: str) -> None:
    """Every way to import a room above is found, and no import of a room below is."""
    house = {"emulator/cellar/door.py": line, "emulator/attic/__init__.py": "", "emulator/attic/view.py": ""}
    steps = list(floors.steps(house))

    assert len(steps) == 1
    assert len(floors.steps_up(["cellar", "attic"], steps)) == 1
    assert floors.steps_up(["attic", "cellar"], steps) == []
    assert len(floors.steps_up(["cellar"], steps)) == 1


def test_a_room_stands_directly_above_the_highest_that_it_imports() -> None:
    """Rooms that import no room are on floor 0."""
    assert floors.floors(["a", "b", "c", "d"], {"c": {"a"}, "d": {"a", "c"}}) == [["a", "b"], ["c"], ["d"]]
