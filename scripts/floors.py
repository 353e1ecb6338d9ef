"""The rooms of each folder in the order of their floors, read from the imports.

A room is a folder of modules, or a single module beside the rooms. It imports only from rooms that are listed before it
in `ROOMS`. Imports inside functions and under TYPE_CHECKING count.

`python scripts/floors.py` draws the floors; folders as arguments limit it. `tests/project/test_layers.py` checks the
order, and `make pages` writes the list of ARCHITECTURE.md.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES: Mapping[str, str] = {
    "emulator": "rocketmq_testkit.emulator",
    "remoting": "rocketmq_testkit.remoting",
    "grpc_v2": "rocketmq_testkit.grpc_v2",
    "fixtures": "rocketmq_testkit.fixtures",
    "conformance": "rocketmq_testkit.conformance",
    "spark": "pyspark_rocketmq",
}
"""The installed name of each folder that has rooms."""


def _listed(names: str) -> tuple[str, ...]:
    return tuple(names.split())


ROOMS: Mapping[str, Sequence[str]] = {
    "emulator": _listed(
        """
        compiled_modules.py kernel deviation.py message config operations gate history faults faults/kinds
        faults/presets assembly topic stats store filter group auth overload schedule client transaction send pull pop
        static_topic admin snapshot cluster consumer_lag.py inspection explanation engine.py instant_copy.py metrics
        engine_cluster_control.py __init__.py
        """
    ),
    "remoting": _listed("wire client bodies request processors server deviations.py request_code_page.py __init__.py"),
    "grpc_v2": _listed(
        """
        proto config transport/http2 transport/grpc transport rules convert proxy services messaging_service.py
        assembly.py deviations.py rpc_page.py __init__.py
        """
    ),
    "fixtures": _listed(
        """
        values network warnings options inspect faults time metrics host control/http control/schema journal
        control/verbs control/shell console pages control views assertions remote reports exploration
        state_table.py emulator.py connected_emulator.py __init__.py factory.py template.py plugin.py command.py
        """
    ),
    "conformance": _listed(
        """
        deployment outcomes clients context helpers
        drivers/python_common drivers/toolchains drivers/cpp drivers/go_grpc drivers/go_remoting drivers/java_grpc
        drivers/java_remoting drivers/node drivers/python drivers/rust drivers
        sdk faults case.py scenario.py
        cases/topic cases/store cases/send cases/pull cases/pop cases/schedule cases/transaction cases/filter
        cases/group cases/client cases/cluster cases/admin cases/auth cases/message cases/overload cases/static_topic
        cases/stats cases/wire cases/grpc cases/faults cases scenarios discovery.py
        targets metrics runner report case_index.py pages outputs.py command.py
        pytest_plugin.py pytest_verdict.py conftest.py test_conformance.py test_scenarios_of_sdks.py __init__.py
        """
    ),
    "spark": _listed(
        """
        errors.py options cluster reading writing sql __init__.py session audit replay testing.py pytest_plugin.py
        options_page.py
        """
    ),
}
"""The rooms of each folder, the lowest first."""


@dataclass(frozen=True, slots=True)
class Step:
    """An import of one file by another, both in one folder; `line` is the importing line."""

    file: str
    line: int
    imported: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.imported}"


def room_of(file: str) -> str:
    """The room of a file within its folder: `pop` of emulator/pop/receipt.py, `engine.py` of emulator/engine.py."""
    _, _, rest = file.partition("/")
    return rest.rpartition("/")[0] or rest


def sources(folder: str, root: Path = ROOT) -> list[str]:
    """The source files of a folder without generated ones, as paths relative to the root."""
    return [
        path.relative_to(root).as_posix()
        for path in sorted((root / folder).rglob("*.py"))
        if not path.name.endswith("_pb2.py") and "__pycache__" not in path.parts
    ]


def module_of(file: str) -> str:
    """The installed name of a file's module."""
    folder, _, rest = file.removesuffix(".py").partition("/")
    return f"{PACKAGES[folder]}.{rest.replace('/', '.')}".removesuffix(".__init__")


def steps(texts: Mapping[str, str]) -> Iterator[Step]:
    """The imports among files (texts by path) of one folder."""
    files = {module_of(file): file for file in texts}
    for file, text in texts.items():
        module = module_of(file)
        package = module if file.endswith("/__init__.py") else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                parts = package.split(".")
                base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
                base = ".".join(filter(None, (base, node.module)))
                names = [(f"{base}.{alias.name}", base) for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [(alias.name, "") for alias in node.names]
            else:
                continue
            for name in names:
                found = next((files[each] for each in name if each in files), None)
                if found is not None and found != file:
                    yield Step(file, node.lineno, found)


def steps_up(order: Sequence[str], found: Iterable[Step]) -> list[str]:
    """The imports of rooms above the importing one, and of rooms that the order lacks."""
    places = {room: place for place, room in enumerate(order)}
    wrong = []
    for step in found:
        here, there = room_of(step.file), room_of(step.imported)
        if here not in places or there not in places:
            wrong.append(f"{step}: {here if here not in places else there} is not in the list of rooms")
        elif places[there] > places[here]:
            wrong.append(f"{step}: the room {there} is above {here}")
    return wrong


def arrows(found: Iterable[Step]) -> dict[str, set[str]]:
    """The rooms that each room imports."""
    result: dict[str, set[str]] = defaultdict(set)
    for step in found:
        here, there = room_of(step.file), room_of(step.imported)
        if here != there:
            result[here].add(there)
    return result


def circles(found: Iterable[Step]) -> list[list[str]]:
    """The files that import each other in a circle: each group in which every file reaches every other, sorted."""
    imports: dict[str, set[str]] = defaultdict(set)
    for step in found:
        imports[step.file].add(step.imported)
    reached = {file: _reached(file, imports) for file in list(imports)}
    groups = {
        tuple(sorted(other for other in reached[file] if file in reached.get(other, ())))
        for file in reached
        if file in reached[file]
    }
    return [list(group) for group in sorted(groups)]


def _reached(file: str, imports: Mapping[str, set[str]]) -> set[str]:
    """The files that a file imports, directly or through others."""
    seen: set[str] = set()
    waiting = [file]
    while waiting:
        new = imports.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def floors(order: Sequence[str], below: Mapping[str, set[str]]) -> list[list[str]]:
    """The rooms by floor, the lowest floor first: a room is one floor above the highest room that it imports."""
    level: dict[str, int] = {}
    for room in order:
        level[room] = 1 + max((level.get(each, -1) for each in below.get(room, ())), default=-1)
    return [[room for room in order if level[room] == floor] for floor in range(max(level.values(), default=-1) + 1)]


def docstring_of(folder: str, room: str, root: Path = ROOT) -> str:
    """The first sentence of a room's docstring, without its full stop."""
    path = root / folder / (room if room.endswith(".py") else f"{room}/__init__.py")
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
    return text.partition(". ")[0].removesuffix(".")


def read(folder: str, root: Path = ROOT) -> dict[str, str]:
    """The sources of a folder by path."""
    return {file: (root / file).read_text() for file in sources(folder, root)}


@cache
def steps_of(folder: str, root: Path = ROOT) -> Sequence[Step]:
    """The imports among the sources of a folder. They are read once in a process."""
    return tuple(steps(read(folder, root)))


def drawing(folder: str, root: Path = ROOT) -> str:
    """The floors of a folder as text, the highest first, with the rooms that each room imports."""
    below = arrows(steps_of(folder, root))
    drawn = floors(ROOMS[folder], below)
    lines = [folder]
    for number, rooms in reversed(list(enumerate(drawn))):
        lines.append(f"  {number:2} " + "-" * 80)
        lines += [f"     {room:24} <- {', '.join(sorted(below.get(room, ())))}".rstrip(" <-") for room in rooms]
    return "\n".join(lines)


def table(root: Path = ROOT) -> list[str]:
    """The lines of the table in ARCHITECTURE.md: rooms of all folders, the lowest first, without single modules."""
    lines = ["| room | floor | idea |", "|---|---:|---|"]
    for folder, order in ROOMS.items():
        drawn = floors(order, arrows(steps_of(folder, root)))
        lines += [
            f"| `{folder}/{room}/` | {number} | {docstring_of(folder, room, root)} |"
            for number, rooms in enumerate(drawn)
            for room in rooms
            if not room.endswith(".py")
        ]
    return lines


def main(arguments: Sequence[str]) -> int:
    """Draw the floors of the given folders, by default of all."""
    print("\n\n".join(drawing(folder) for folder in arguments or ROOMS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
