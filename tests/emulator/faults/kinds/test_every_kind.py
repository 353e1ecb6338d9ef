"""Each kind of fault is used by a test of this folder, where the faults act on bytes, stored messages and brokers."""

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
    """Return the names that each test file of this folder uses, without those that it only imports."""
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
def test_a_kind_is_used_by_a_test_of_its_layer(name: str) -> None:
    """By its class, or as `faults.name`. Tests of its form, such as its text as YAML, are in other folders."""
    wanted = {ALL[name].__name__, name}
    assert [file for file, names in names_of_files().items() if wanted & names], f"add a test of {name} to {FOLDER}"
