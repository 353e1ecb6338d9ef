"""The page of configuration keys matches the declarations."""

import re
from pathlib import Path

import config_page
import metrics_table
import pages
import pytest
import reason_table
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.fixtures.options.profiles import FAST, PROFILES

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_configuration_keys_is_current() -> None:
    """`make pages` changes nothing."""
    assert (ROOT / "docs" / "config-keys.md").read_text() == config_page.page()


def test_the_table_of_reasons_is_current_and_has_each_reason() -> None:
    """Each reason has a docstring, which the table shows."""
    table = reason_table.table()
    assert [line.split("`")[1] for line in table[2:]] == [reason.name for reason in Reason]
    assert "\n".join(table) in (ROOT / "docs" / "debugging.md").read_text()


def test_each_key_of_the_profile_fast_is_a_declared_key() -> None:
    """Each key of the profile `fast` is a declared key, so that its row shows the value."""
    declared = {name for _, config in config_page.SECTIONS for name in config.attributes()}

    assert set(FAST) <= declared
    assert PROFILES["faithful"] == {}


def declares_keys(path: Path) -> bool:
    """Return True for modules of rooms `config` that declare keys or only name them."""
    return "config" in path.parts and path.name != "pools.py"


def test_every_declared_key_is_read_outside_the_declarations() -> None:
    folders = ("emulator", "remoting", "grpc_v2", "fixtures")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if not declares_keys(path)]
    text = "\n".join(path.read_text() for path in sources if path.name != "config.py")
    words = set(re.findall(r"\w+", text))
    declared = {attribute for _, config in config_page.SECTIONS for attribute in config.attributes().values()}
    assert sorted(declared - words) == []


def test_a_table_replaces_the_one_with_the_same_head() -> None:
    """A table replaces the one with the same head; a page without such a table is rejected."""
    page = "# Words\n\n| what | why |\n|---|---|\n| old | gone |\n\nMore words.\n\n| what else |\n"
    table = ["| what | why |", "|---|---|", "| new | here |", "| newer | too |"]

    assert pages.with_table(page, table) == page.replace("| old | gone |", "| new | here |\n| newer | too |")
    with pytest.raises(ValueError, match=re.escape("no table with the head | who |")):
        pages.with_table(page, ["| who |"])


@pytest.mark.parametrize("table", [metrics_table.upstream(), metrics_table.own(), metrics_table.differences()])
def test_the_tables_of_metrics_are_current(table: list[str]) -> None:
    """docs/metrics.md lists all metrics and the deliberate differences."""
    assert "\n".join(table) in (ROOT / "docs" / "metrics.md").read_text()
