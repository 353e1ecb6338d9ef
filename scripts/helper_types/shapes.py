"""Result types of the control API: their fields with types, documentation and optionality, for any language."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import rocketmq_testkit.emulator.inspection as inspection_room
from rocketmq_testkit.emulator.pull import cold_data

ROOT = Path(__file__).resolve().parents[2]
OPENAPI = ROOT / "docs" / "openapi.json"
JOURNAL = ROOT / "fixtures" / "journal" / "journal-v2.schema.json"
RENAMED: Mapping[str, str] = {
    "ListedBroker": "BrokerInfo",
    "Fork": "ForkInfo",
    "Group": "GroupState",
    "Keys": "Configuration",
    "KeptSnapshot": "Snapshot",
    "Lines": "JournalPage",
    "MessagePlace": "Place",
    "Queue": "QueueOffsets",
    "StoredMessage": "Message",
    "WarningLine": "Warning",
    "FactForm": "Fact",
    "ChangeForm": "Change",
    "StepForm": "Step",
    "HistoryForm": "History",
    "IdleForm": "IdleExplanation",
    "ExplanationForm": "Explanation",
}
"""Names of types in the helpers, where the name in the OpenAPI description is already used or too general."""
WANTED: Sequence[str] = (
    "BrokerInfo",
    "Configuration",
    "ClientInfo",
    "ScheduledEvent",
    "TopicInfo",
    "GroupInfo",
    "GroupState",
    "QueueOffsets",
    "ForkInfo",
    "Snapshot",
    "RuleState",
    "RuleEvents",
    "Firing",
    "ReceiveMetrics",
    "Warning",
    "Explanation",
    "ExplainedMessage",
    "IdleExplanation",
    "Fact",
    "Change",
    "History",
    "Step",
    "JournalPage",
    "JournalLine",
    "JournalEvent",
    "Place",
    "TopicView",
    "QueueView",
    "ProgressView",
    "ColdSuspension",
    "InspectedMessage",
    "ReceiptView",
    "LockView",
    "TimerView",
    "HalfView",
    "GroupView",
    "MemberView",
    "SubscriptionView",
    "AssignmentView",
    "ConnectionView",
    "PollView",
    "RuleView",
    "KeyView",
)
"""The generated types. `Message` is written by hand, as it has more than fields."""
VIEWS = frozenset(WANTED[WANTED.index("TopicView") :])
"""Types of the inspection, which have a file of their own in Go."""
SMALL = frozenset(
    {
        "id",
        "queue_id",
        "queues",
        "perm",
        "attempt",
        "retry",
        "level",
        "checks",
        "checks_max",
        "times",
        "matched",
        "fired",
    }
    | {"retry_max_times", "messages"}
)
"""Numbers that fit into 32 bits in each case; others are offsets, sizes and totals."""
TIMES = re.compile(r"_(ms|us)$")
AS_IT_IS = ("at", "since", "until", "now")
"""Last words of fields with times, after which the helpers add no `at`."""
_ABOUT_JSON = re.compile(r" in (?:us|ms) since the epoch|, see `\w+\.\w+`")
"""Parts of sentences that are not true, or mean nothing, in the helpers."""
_REFERENCE = re.compile(r"#/components/schemas/(\w+)")


@dataclass(frozen=True)
class Type:
    """The type of a field.

    `kind` is text, bytes, whole, long, number, truth, time, span, any, list, map, or the name of a generated type.
    `item` is the type of the items of a list, or of the values of a map with texts as keys.
    """

    kind: str
    item: "Type | None" = None
    unit: str = "ms"
    """The unit of a time: ms or us."""


@dataclass(frozen=True)
class Field:
    """A field. `wire` is its name in JSON, `words` those of its name in the helpers."""

    wire: str
    words: Sequence[str]
    type: Type
    optional: bool
    """True if the field may be null or absent."""
    _: KW_ONLY
    about: str


@dataclass(frozen=True)
class Shape:
    """A result type. The first paragraph of `about` is a summary."""

    name: str
    about: Sequence[str]
    fields: Sequence[Field]

    def field_types(self) -> set[str]:
        """Return the names of the types of its fields, and of the items of those that are lists or maps."""
        kinds = [each.type for each in self.fields]
        kinds += [kind.item for kind in kinds if kind.item is not None]
        return {kind.kind for kind in kinds}


def shapes() -> list[Shape]:
    """Return the wanted types in their order."""
    schemas = json.loads(OPENAPI.read_text())["components"]["schemas"]
    event = json.loads(JOURNAL.read_text())["$defs"]["entry"]
    named = {**schemas, **{new: schemas[name] for name, new in RENAMED.items()}}
    named["JournalEvent"] = event | {"description": "A line of the journal, as followers and exported files get it."}
    return [_shape(name, named[name]) for name in WANTED]


def _shape(name: str, schema: Mapping[str, Any]) -> Shape:
    docs = _field_docs(schema.get("title", name))
    required = set(schema["required"])
    fields = [
        _field(wire, member, wire not in required, docs.get(wire) or member.get("description", ""))
        for wire, member in schema["properties"].items()
    ]
    return Shape(name, _paragraphs(schema["description"]), fields)


def _field(wire: str, schema: Mapping[str, Any], optional: bool, about: str) -> Field:
    kinds = schema.get("anyOf", [schema])
    nullable = [each for each in kinds if each.get("type") != "null"]
    if isinstance(schema.get("type"), list):
        optional = True
        nullable = [{**schema, "type": next(each for each in schema["type"] if each != "null")}]
    # A number with a default is never null: it is left out if it is 0.
    is_null = len(nullable) < len(kinds) or (optional and "default" not in schema)
    return Field(
        wire, _words(wire), _type(nullable[0], wire), is_null, about=_ABOUT_JSON.sub("", " ".join(about.split()))
    )


def _words(wire: str) -> list[str]:
    if wire == "by_ms":
        return ["by"]
    if wire == "msgId":
        return ["message", "id"]
    if not TIMES.search(wire):
        return wire.split("_")
    words = wire.split("_")[:-1]
    if words == ["ts"]:
        return ["at"]
    return words if words[-1] in AS_IT_IS else [*words, "at"]


def _type(schema: Mapping[str, Any], wire: str = "") -> Type:
    reference = _REFERENCE.fullmatch(schema.get("$ref", ""))
    if reference:
        return Type(RENAMED.get(reference[1], reference[1]))
    match schema.get("type"):
        case "string":
            return Type("bytes" if schema.get("contentEncoding") == "base64" else "text")
        case "boolean":
            return Type("truth")
        case "number":
            return Type("number")
        case "integer" if wire == "by_ms":
            return Type("span")
        case "integer" if found := TIMES.search(wire):
            return Type("time", unit=found[1])
        case "integer":
            return Type("whole" if wire in SMALL else "long")
        case "array" if "items" in schema:
            return Type("list", _type(schema["items"]))
        case "array":
            return Type("list", Type("Explanation"))  # of its groups: the only list without a type
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return Type("map", _type(schema["additionalProperties"]))
        case "object":
            return Type("map", Type("any"))
        case _:
            return Type("any" if "enum" not in schema else "text")


def _paragraphs(text: str) -> list[str]:
    return [paragraph.strip() for paragraph in re.split(r"\n\n+", text)]


def _field_docs(title: str) -> dict[str, str]:
    """Return the sentences below the fields of a class of the engine, which its objects do not have at run time."""
    found = _classes().get(title)
    return {} if found is None else dict(_documented(found))


@cache
def _classes() -> Mapping[str, type]:
    """Return the classes of the inspection by name, and those of cold data, which it takes from another room."""
    name = inspection_room.__name__
    modules = [import_module(f"{name}.{each.name}") for each in iter_modules(inspection_room.__path__)]
    return {
        each.__name__: each
        for module in (*modules, cold_data)
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__
    }


def _documented(cls: type) -> Iterator[tuple[str, str]]:
    [declared] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(declared, ast.ClassDef)
    for each in zip(declared.body, declared.body[1:], strict=False):
        match each:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(sentence))):
                yield name, sentence
