"""A class name stands for one class of the product, so that imports, searches and error messages name one thing."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("emulator", "remoting", "grpc_v2", "fixtures", "conformance", "spark", "testkit", "scripts")
REASONS = {
    "Clock": "One clock: its schema in the control API (docs/openapi.json), and its public view in Python.",
    "DelayedCall": "Twisted's IDelayedCall: the servers of both protocols do not import each other, and each declares "
    "the methods that it calls.",
    "Group": "One consumer group: its schema in the control API (docs/openapi.json), and its public view in Python.",
    "MessageQueue": "Upstream's MessageQueue: that of brokers, and that of the Spark connector, which is a client of "
    "any broker and does not import the operations of the engine.",
    "OptionError": "Each is public in its own package, and the Spark connector does not import the fixtures.",
    "ReactorTime": "Twisted's IReactorTime: the servers of both protocols do not import each other, and each declares "
    "the methods that it calls.",
    "Refusal": "That of the proxy ends a request of a client. That of the drivers is an error of the driver, with the "
    "same name in the drivers of Python, Go, Java and Node; drivers run without this package.",
}
"""The names that several classes have, each with the reason."""


def class_names(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield the names of the public classes of a module; not of those inside of classes and functions."""
    for each in statements:
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
            yield each.name
        elif isinstance(each, ast.If | ast.Try):
            yield from class_names(each.body)
            yield from class_names(each.orelse)


def files_by_class_name() -> dict[str, list[str]]:
    """Return the files of the product that define a class, by its name. A file occurs once for each definition."""
    found = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in class_names(ast.parse(path.read_text(encoding="utf-8")).body):
                found[name].append(path.relative_to(ROOT).as_posix())
    return found


def test_classes_of_one_name_have_a_reason() -> None:
    """Two classes of the product have different names, unless `REASONS` says why theirs are equal."""
    repeated = {name: files for name, files in files_by_class_name().items() if len(files) > 1}

    assert {name: files for name, files in repeated.items() if name not in REASONS} == {}


def test_each_reason_is_about_a_repeated_name() -> None:
    """A name of `REASONS` belongs to several classes, and its reason is a sentence."""
    found = files_by_class_name()

    assert [name for name in REASONS if len(found[name]) < 2] == []
    assert [name for name, reason in REASONS.items() if not reason.endswith(".")] == []
