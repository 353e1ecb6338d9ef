"""The matrix of faults and SDKs: each kind has a situation and a reaction of each SDK, and the page shows them."""

from dataclasses import replace
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.faults import command
from rocketmq_testkit.conformance.faults.matrix import empty_cells, sdks
from rocketmq_testkit.conformance.faults.reaction import Impossible, Reaction, agree, cell_of, time_class, varied
from rocketmq_testkit.conformance.faults.record import ReactionRecord
from rocketmq_testkit.conformance.faults.situation import Situation
from rocketmq_testkit.conformance.faults.situations import SITUATIONS, WITHOUT_SITUATION, situation
from rocketmq_testkit.conformance.pages import fault_kinds_page
from rocketmq_testkit.emulator.faults.fault import IN_PYTHON, KINDS
from rocketmq_testkit.emulator.faults.rule_form import read_rule, written_rule

ROOT = Path(__file__).resolve().parents[2]
SENT = Reaction("no error", "at once", 2, "other broker", stored=2, deliveries=[2])


def test_each_kind_of_fault_has_exactly_one_situation() -> None:
    """The kinds of the situations are exactly the declared kinds of faults, each once."""
    assert sorted(each.kind for each in SITUATIONS) == sorted(KINDS)


def test_a_kind_without_situation_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(LookupError, match=r"no situation is declared .* add one to SITUATIONS"):
        situation("no_such_kind")


@pytest.mark.parametrize("each", SITUATIONS, ids=lambda each: each.kind)
def test_the_rule_of_a_situation_is_valid_in_each_protocol_of_its_kind(each: Situation) -> None:
    """The rule of a situation can be read, and does not change when it is written and read again."""
    for protocol in KINDS[each.kind].KIND.protocols:
        form = each.rule(protocol)
        spec = read_rule(form)
        assert spec.fault.KIND.name == each.kind
        assert written_rule(read_rule(written_rule(spec))) == written_rule(spec)


def test_every_kind_was_observed_with_every_sdk() -> None:
    """Each cell of the matrix has the result of a run of `make fault-matrix`."""
    assert empty_cells(ReactionRecord(), list(KINDS)) == []


def test_every_kind_has_a_situation_or_a_reason_for_having_none() -> None:
    assert {each.kind for each in SITUATIONS} == set(KINDS)
    assert set(WITHOUT_SITUATION) == set(IN_PYTHON)


def test_an_empty_cell_is_named_with_the_command_that_fills_it(tmp_path: Path) -> None:
    found = empty_cells(ReactionRecord(tmp_path), ["drop_response"])

    assert len(found) == len(sdks())
    assert found[0].endswith("run make fault-matrix KINDS=drop_response SDKS=java-grpc")


def test_the_record_holds_no_other_kinds_and_the_versions_of_the_drivers() -> None:
    """The record names only existing kinds, and the SDK versions that the drivers are built with."""
    record = ReactionRecord()
    for sdk in sdks():
        assert set(record.kinds(sdk)) <= set(KINDS), sdk
        about, recipe = record.about(sdk), registry.recipe(sdk)
        assert about["protocol"] == recipe.protocol
        assert about["version"].removeprefix("v") == recipe.version.removeprefix("v"), f"{sdk}: record it again"


def test_a_cell_is_impossible_exactly_for_kinds_of_the_other_protocol_and_lacking_features() -> None:
    """Kinds of one protocol have no reaction of SDKs of the other one."""
    record = ReactionRecord()
    for sdk in sdks():
        for name, cls in KINDS.items():
            if registry.recipe(sdk).protocol not in cls.KIND.protocols:
                assert isinstance(record.cell(sdk, name), Impossible), (sdk, name)


def test_a_written_record_is_read_as_it_was(tmp_path: Path) -> None:
    hello = {"sdk": "a", "version": "1", "protocol": "grpc"}
    ReactionRecord(tmp_path).put("python", hello, "2026-01-31", "drop_response", cell=SENT)
    ReactionRecord(tmp_path).put("python", hello, "2026-02-01", "go_away", cell=Impossible("no"))

    read = ReactionRecord(tmp_path)
    assert read.cell("python", "drop_response") == SENT
    assert read.cell("python", "go_away") == Impossible("no")
    assert read.about("python")["date"] == "2026-02-01"
    assert '"deliveries": [2]' in (tmp_path / "python.json").read_text()


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.1, "at once"), (2, "about 2 s"), (3.1, "about 3 s"), (60, "later"), (None, "never")]
)
def test_a_duration_has_a_coarse_class(seconds: float | None, expected: str) -> None:
    assert time_class(seconds) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [({"after": "about 2 s"}, True), ({"after": "about 3 s"}, False), ({"stored": 1}, False), ({"error": "X"}, False)],
)
def test_reactions_agree_up_to_one_class_of_time(change: dict[str, object], expected: bool) -> None:
    assert agree(cell_of({**SENT.form(), **change}), SENT) is expected


def test_a_reaction_with_two_times_agrees_with_either_and_shows_both() -> None:
    """Observations that differ only in their times are one reaction, which agrees with each of the times."""
    slow, later = replace(SENT, after="about 3 s"), replace(SENT, after="about 10 s")
    both = replace(SENT, or_after="about 3 s")
    assert varied([slow, SENT, slow]) == both
    assert varied([SENT, SENT]) == SENT
    assert varied([SENT, replace(slow, stored=1)]) is None
    assert cell_of(both.form()) == both
    assert [agree(each, both) for each in (SENT, slow, later)] == [True, True, False]
    assert [*fault_kinds_page._cell(both)][1] == "at once or about 3 s"


def test_the_page_of_kinds_is_current() -> None:
    """docs/fault-kinds.md equals the output of `python -m rocketmq_testkit.conformance.pages.fault_kinds_page`."""
    assert (ROOT / "docs" / "fault-kinds.md").read_text() == fault_kinds_page.page()


def test_the_page_has_each_kind_with_each_parameter() -> None:
    page = fault_kinds_page.page()
    for name, cls in KINDS.items():
        _, _, section = page.partition(f"\n### {name}\n")
        section = section.partition("\n### ")[0]
        assert cls.KIND.situation in section
        for parameter in cls.__dataclass_fields__:
            assert f"| `{parameter}` |" in section, (name, parameter)


def test_the_command_rejects_unknown_kinds_and_sdks(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--kinds", "drop_respons"], ["--sdks", "pyton"]):
        with pytest.raises(SystemExit) as end:
            command.main(words)
        assert end.value.code == 2
    assert "drop_respons: no situation is declared" in capsys.readouterr().err
