"""The topic and the group of each operation and effect, as criteria of rules use them."""

from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from rocketmq_testkit.emulator.faults.subject_names import has_groups, has_topics
from rocketmq_testkit.emulator.faults.vocabulary import Vocabulary

WITHOUT_NAME = {
    "GetNamesrvTopicList": "lists the topics of a cluster",
    "GetBrokerTopicList": "lists all topics",
    "GetUnitTopicList": "lists the topics of a unit",
    "CreateUser": "the body names users only",
    "PutAcl": "resources of policies are patterns, not topics",
    "DeleteAcl": "resources of policies are patterns, not topics",
    "ListAcls": "resources of policies are patterns, not topics",
    "RequestRunningInfo": "",
    "ClientResponded": "correlated by its ticket",
}
_VOCABULARY = Vocabulary()
CLASSES = sorted({**_VOCABULARY.operations, **_VOCABULARY.effects}.items())


def _words(kind: type, depth: int = 0) -> set[str]:
    """Return the names of the fields of a class and of the classes of its fields, as words."""
    found: set[str] = set()
    hints = get_type_hints(kind)
    for each in fields(kind):
        found.add(each.name)
        for part in _parts(hints[each.name]):
            if is_dataclass(part) and depth < 3:
                found |= _words(part, depth + 1)  # type: ignore[arg-type]  # a class
    return found


def _parts(hint: Any) -> list[Any]:
    return [hint] if get_origin(hint) is None else [part for each in get_args(hint) for part in _parts(each)]


@pytest.mark.parametrize(("name", "kind"), CLASSES, ids=[name for name, _ in CLASSES])
def test_every_class_with_a_field_about_a_topic_or_group_returns_it(name: str, kind: type) -> None:
    """The exceptions are in `WITHOUT_NAME`, with their reasons."""
    words = _words(kind)
    assert has_topics(kind) or not any("topic" in word for word in words - {"default_topic"}) or name in WITHOUT_NAME
    about_groups = {word for word in words if "group" in word} - {"filter_groups"}
    assert has_groups(kind) or not about_groups or name in WITHOUT_NAME
    if "ext_fields" in words and name.startswith("Request"):
        assert has_groups(kind)
