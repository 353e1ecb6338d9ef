"""Files of expected deviations of a user's broker: an entry changes a verdict, and an invalid file is rejected."""

import json
from pathlib import Path

import pytest
from rocketmq_testkit.conformance.outcomes.expected import Expected, ExpectedError
from rocketmq_testkit.conformance.outcomes.outcome import Outcome, Verdict

SEEN = [("sent", {"code": 17})]
ENTRY = {"reason": "ours", "seen": [["sent", {"code": 17}]]}


def outcome(verdict: Verdict, notes: list[tuple[str, object]] | None = None, reason: str = "") -> Outcome:
    """Return the outcome of a case with a user's broker."""
    return Outcome("send.x", "mine", verdict, 0.1, notes=SEEN if notes is None else notes, reason=reason)


@pytest.mark.parametrize(
    ("entry", "before", "after", "reason"),
    [
        (ENTRY, outcome(Verdict.DIFFERS), Verdict.DELIBERATE, "ours"),
        (ENTRY, outcome(Verdict.DIFFERS, [("sent", {"code": 1})]), Verdict.DIFFERS, ""),
        (
            ENTRY,
            outcome(Verdict.SAME),
            Verdict.STALE,
            "listed as a deviation in , but the outcome is as recorded: remove it",
        ),
        (ENTRY, outcome(Verdict.ERROR, [], "TypeError: x"), Verdict.ERROR, "TypeError: x"),
        (ENTRY, outcome(Verdict.NOT_APPLICABLE, [], "needs crash"), Verdict.NOT_APPLICABLE, "needs crash"),
        (
            {"reason": "no timer", "error": True},
            outcome(Verdict.ERROR, [], "TypeError: x"),
            Verdict.DELIBERATE,
            "no timer (TypeError: x)",
        ),
        ({"reason": "no timer", "error": True}, outcome(Verdict.DIFFERS), Verdict.DIFFERS, ""),
    ],
)
def test_an_entry_accepts_exactly_one_deviation_of_its_case(
    entry: dict[str, object], before: Outcome, after: Verdict, reason: str
) -> None:
    """An entry accepts exactly one deviation of its id; another deviation, or none, is not accepted."""
    judged = Expected({"send.x": entry}).judge(before)

    assert (judged.verdict, judged.reason) == (after, reason)
    assert Expected({"send.y": entry}).judge(before) == before


def test_recording_keeps_reasons_and_entries_of_cases_that_did_not_run() -> None:
    """Recording keeps reasons and entries of cases that did not run, and removes an entry whose case is as recorded."""
    known = Expected({"send.x": ENTRY, "send.y": ENTRY, "send.z": ENTRY})
    fixed = Outcome("send.z", "mine", Verdict.SAME, 0.1, notes=SEEN)
    failed = Outcome("send.w", "mine", Verdict.ERROR, 0.1, notes=[], reason="TypeError: x")

    changed = known.put([outcome(Verdict.DIFFERS, [("sent", {"code": 1})]), fixed, failed], "2026-01-31")

    assert changed.judge(outcome(Verdict.DIFFERS, [("sent", {"code": 1})])).reason == "ours"
    assert changed.judge(fixed).verdict is Verdict.SAME
    assert changed.judge(failed).reason == "recorded on 2026-01-31 (TypeError: x)"
    assert changed.judge(Outcome("send.y", "mine", Verdict.DIFFERS, 0.1, notes=SEEN)).verdict is Verdict.DELIBERATE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        (json.dumps({"a.b": {"seen": []}}), "a.b is not an object with a text `reason`"),
        (json.dumps({"a.b": {"reason": ""}}), "a.b has neither a list `seen`"),
    ],
)
def test_an_expected_file_of_another_form_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """A file of another form is rejected by an error with its name."""
    file = tmp_path / "expected.json"
    file.write_text(text)

    with pytest.raises(ExpectedError, match=said):
        Expected.read(file)
