"""Each kind of fault is used by a test of this folder, in which faults act on real requests, messages and brokers."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from rocketmq_testkit.emulator.faults import kinds  # noqa: F401 - fills the table of kinds
from rocketmq_testkit.emulator.faults.fault import IN_PYTHON, KINDS

FOLDER = Path(__file__).parent


@cache
def names_of_files() -> Mapping[str, frozenset[str]]:
    """Return the identifiers that each test file of this folder uses, by file, without its import statements."""
    found = {}
    for file in sorted(FOLDER.glob("test_*.py")):
        nodes = [
            node
            for top in ast.parse(file.read_text(encoding="utf-8")).body
            if not isinstance(top, ast.Import | ast.ImportFrom)
            for node in ast.walk(top)
        ]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        found[file.name] = frozenset(names)
    return found


ALL = {**KINDS, **IN_PYTHON}


@pytest.mark.parametrize("name", sorted(ALL))
def test_each_kind_of_fault_is_used_by_a_test_of_this_folder(name: str) -> None:
    """A test uses its class, or `faults.name`."""
    wanted = {ALL[name].__name__, name}
    assert [file for file, names in names_of_files().items() if wanted & names], f"add a test of {name} to {FOLDER}"
