"""Deselects tests that are not in the sample, if TEST_SAMPLE is set.

With `1` the sample has a sixth of the parameters of each test with the marker `sampled`, with `all` of every test. A
conftest.py imports the hook. `scripts/sampled_tests.py` has the choice and the record.
"""

import os
from collections import defaultdict

import pytest
import sampled_tests

VARIABLE = "TEST_SAMPLE"


def deselect_outside_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the sample of each group of tests. A second call changes nothing."""
    wanted = os.environ.get(VARIABLE)
    if not wanted or config.stash.get(_DONE, False):
        return
    config.stash[_DONE] = True
    record = sampled_tests.read(sampled_tests.FILE)
    groups: dict[str, list[str]] = defaultdict(list)
    least: dict[str, int] = {}
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None:
            group = _test_of_parameters(item) if wanted == sampled_tests.OF_ALL else ""
        else:
            group = _group(item) if sampled_tests.unchanged(record, _file(item), sampled_tests.ROOT) else ""
        if group:
            groups[group].append(item.nodeid)
            least[group] = sampled_tests.LEAST if mark is None else mark.kwargs.get("least", sampled_tests.LEAST)
    chosen = {name for group, names in groups.items() for name in sampled_tests.chosen(names, least[group])}
    left_out = {name for names in groups.values() for name in names} - chosen
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


_DONE = pytest.StashKey[bool]()


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(sampled_tests.ROOT).as_posix()


def _group(item: pytest.Item) -> str:
    """Return the test without its parameters, the file of a test without them, or an empty text if it always runs."""
    [mark, *_] = item.iter_markers("sampled")
    return _test_of_parameters(item) or (_file(item) if "tests" in mark.args else "")


def _test_of_parameters(item: pytest.Item) -> str:
    test, bracket, _ = item.nodeid.partition("[")
    return test if bracket else ""
