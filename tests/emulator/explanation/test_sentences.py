"""Sentences, facts and changes of the explanations of every reason, as recorded in `sentences.txt`.

UPDATE_SENTENCES=1 writes that file.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from client_claims import CLAIM
from explained_situations import SECOND, SITUATIONS, Situation
from rocketmq_testkit.emulator.explanation.reason import Reason

GOLDEN = Path(__file__).with_name("sentences.txt")
ALL = {reason.name: situation for reason, situation in SITUATIONS.items()} | SECOND


def test_every_reason_has_a_situation() -> None:
    assert list(SITUATIONS) == list(Reason)


@pytest.mark.parametrize("reason", list(Reason))
def test_explanation_of_each_situation_has_its_reason(reason: Reason) -> None:
    assert SITUATIONS[reason].explain().reason is reason


def test_sentences_are_those_of_the_recorded_file() -> None:
    text = "\n\n".join(f"{name}\n{situation.explain()!r}" for name, situation in ALL.items()) + "\n"
    if os.environ.get("UPDATE_SENTENCES"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


@pytest.mark.parametrize("name", ALL)
def test_every_reason_has_facts_and_changes(name: str) -> None:
    found = ALL[name].explain()
    assert found.facts
    assert found.changes
    assert all(fact.values for fact in found.facts)
    assert all(change.sentence and not change.sentence.endswith(".") for change in found.changes)


@pytest.mark.parametrize("name", ALL)
def test_no_sentence_claims_that_a_listener_ran(name: str) -> None:
    found = ALL[name].explain()
    for text in (found.sentence, *(change.sentence for change in found.changes)):
        assert not CLAIM.search(text), text


@pytest.mark.parametrize("name", ALL)
def test_sentence_is_one_line_and_names_the_message(name: str) -> None:
    found = ALL[name].explain()
    assert found.sentence == str(found)
    assert found.sentence.startswith("message ID1 of o")
    assert "\n" not in found.sentence
    assert "None" not in found.sentence


@pytest.mark.parametrize("name", ALL)
def test_block_is_at_most_120_characters_wide(name: str) -> None:
    assert all(len(line) <= 120 for line in repr(ALL[name].explain()).splitlines())


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].explain().until_ms is not None])
def test_change_by_an_advance_of_the_clock_ends_at_the_end_of_the_verdict(name: str) -> None:
    found, now_ms = ALL[name].explain(), ALL[name].now_ms
    assert found.until_ms is not None
    assert found.until_ms > now_ms
    assert [change.by_ms for change in found.changes if change.by_ms is not None] == [found.until_ms - now_ms]


def test_sentence_without_records_has_the_time_since_which_details_are_held() -> None:
    found = ALL["acknowledged, no details held"].explain()
    assert "details from before 12:00:31 are no longer held" in found.sentence
    assert found.history_since_ms == ALL["acknowledged, no details held"].now_ms


def test_explanation_without_a_group_has_the_state_in_the_store_and_for_each_group() -> None:
    found = ALL["stored, no group asked for"].explain()
    assert (found.group, found.reason) == (None, Reason.AVAILABLE)
    assert [(each.group, each.reason) for each in found.groups] == [("billing", Reason.IN_FLIGHT)]


@pytest.mark.parametrize("reason", list(Reason))
def test_verdict_without_delivery_records_is_the_same(reason: Reason) -> None:
    """The exception: without records, a commit past an undelivered message looks like an acknowledgement."""
    situation = SITUATIONS[reason]
    found = _without_records(situation).explain()
    expected = {Reason.COMMITTED_PAST: Reason.ACKNOWLEDGED}.get(reason, reason)
    assert found.reason is expected


def _without_records(situation: Situation) -> Situation:
    return replace(situation, past=replace(situation.past, deliveries={}, since_ms=situation.now_ms))
