"""Deselects tests with the marker `sampled` that are not in the sample, if TEST_SAMPLE is set.

A conftest.py imports the hook. `scripts/sampled_tests.py` has the choice and the record.
"""

import os
from collections import defaultdict
from collections.abc import Iterable

import pytest
import sampled_tests

VARIABLE = "TEST_SAMPLE"


def deselect_outside_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the sample of each group of marked tests. A second call changes nothing."""
    if not os.environ.get(VARIABLE) or config.stash.get(_DONE, False):
        return
    config.stash[_DONE] = True
    record = sampled_tests.read(sampled_tests.FILE)
    groups: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if (group := _group(item)) and sampled_tests.unchanged(record, _file(item), sampled_tests.ROOT):
            groups[group].append(item.nodeid)
    left_out = _outside(groups.values())
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


_DONE = pytest.StashKey[bool]()


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(sampled_tests.ROOT).as_posix()


def _group(item: pytest.Item) -> str:
    """Return the test without its parameters, the file of a test without them, or an empty text if it always runs."""
    mark = item.get_closest_marker("sampled")
    if mark is None:
        return ""
    test, bracket, _ = item.nodeid.partition("[")
    return test if bracket else _file(item) if "tests" in mark.args else ""


def _outside(groups: Iterable[list[str]]) -> set[str]:
    return {name for names in groups for name in set(names) - sampled_tests.chosen(names)}
