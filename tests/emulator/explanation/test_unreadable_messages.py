"""Verdicts about messages that groups cannot read, such as half messages, with a delivery record and without one."""

from dataclasses import replace
from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness
from inspected import look
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.explanation import Explanation
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.inspection.places import Place
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.send import EndTransaction, RecallMessage, SendResult

ID = "7F0000010A2B18B4AAC2000000000001"
COMMIT, ROLLBACK = 8, 12
HOUR_MS = 3_600_000
SMALL: dict[str, Any] = {
    "store_max_bytes": 1024 * 1024,
    "mapped_file_size_commit_log": 256 * 1024,
    "max_message_size": 64 * 1024,
}


@pytest.fixture(params=(65_536, 0), ids=("recorded", "not recorded"))
def recorded(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the keys of an engine that keeps a journal and a delivery record, or neither."""
    return {"delivery_record_max_entries": request.param, "journal_max_entries": request.param}


def explain(harness: EngineHarness, message_id: str = ID, place: Place | None = None) -> Explanation:
    found = look(harness)
    messages = found.find(message_id)
    explainer = Explainer(found, harness.engine.history, lambda: harness.now_ms)
    return explainer.explain(messages[0] if messages else None, message_id, "G", place=place)


def harness_of(keys: dict[str, Any], **more: Any) -> EngineHarness:
    harness = make_harness(**keys, **more)
    harness.topic("A")
    harness.heartbeat("client", topics={"A": "*"})
    return harness


def half(harness: EngineHarness) -> SendResult:
    harness.engine.submit(harness.broker, Heartbeat("producer", ["PG"], []))
    return harness.send("A", UNIQ_KEY=ID, TRAN_MSG="true", PGROUP="PG")


def end(harness: EngineHarness, sent: SendResult, how: int) -> None:
    operation = EndTransaction("PG", sent.queue_offset, sent.physical_offset, how, False, sent.msg_id)
    harness.engine.execute(harness.broker, operation)


def test_committed_half_message_is_available(recorded: dict[str, Any]) -> None:
    harness = harness_of(recorded)
    end(harness, half(harness), COMMIT)
    assert explain(harness).reason is Reason.AVAILABLE
    harness.advance(HOUR_MS)
    harness.heartbeat("client", topics={"A": "*"})
    assert explain(harness).reason is Reason.AVAILABLE


def test_rolled_back_half_message_stays_rolled_back(recorded: dict[str, Any]) -> None:
    harness = harness_of(recorded)
    end(harness, half(harness), ROLLBACK)
    found = explain(harness)
    assert found.reason is Reason.ROLLED_BACK
    harness.advance(HOUR_MS)
    assert explain(harness).reason is Reason.ROLLED_BACK
    assert ("was rolled back by " in str(found)) is bool(recorded["delivery_record_max_entries"])


def test_rollback_after_a_check_is_a_rollback(recorded: dict[str, Any]) -> None:
    """Each check stores the half message again. The response to a check names the newest copy, which alone counts."""
    harness = harness_of(recorded)
    sent = half(harness)
    assert explain(harness).reason is Reason.HALF_UNCHECKED
    harness.advance(60_000)
    assert explain(harness).reason is Reason.HALF_CHECKED
    end(harness, sent, ROLLBACK)
    assert explain(harness).reason is Reason.HALF_CHECKED
    newest = look(harness).find(ID)[0].copies[-1].place
    end(harness, replace(sent, queue_offset=newest.queue_offset, physical_offset=newest.physical_offset), ROLLBACK)
    assert explain(harness).reason is Reason.ROLLED_BACK


def test_half_message_is_discarded_after_its_last_check(recorded: dict[str, Any]) -> None:
    harness = harness_of(recorded, transaction_check_max=3)
    half(harness)
    reasons = []
    for _ in range(20):
        harness.advance(30_000)
        reasons.append(explain(harness).reason)
    assert reasons[-1] is Reason.DISCARDED
    assert set(reasons) == {Reason.HALF_CHECKED, Reason.DISCARDED}
    assert "after 3 checks" in str(explain(harness))


def test_committed_message_that_was_deleted_is_no_rollback(recorded: dict[str, Any]) -> None:
    """The store deleted the committed message, and its op message remains.

    Without a delivery record the emulator cannot tell if the transaction was committed or rolled back.
    """
    harness = harness_of(recorded, **SMALL)
    end(harness, half(harness), COMMIT)
    found = look(harness)
    (copy,) = [copy for copy in found.find(ID)[0].copies if copy.place.topic == "A"]
    for _ in range(60):
        harness.send("A", b"x" * 30_000)
    assert found.at(copy.place) is None
    verdict = explain(harness, place=copy.place)
    assert verdict.reason is Reason.EXPIRED
    assert "was deleted with the oldest messages of broker-a" in str(verdict)


def test_delayed_message_is_available_after_its_level(recorded: dict[str, Any]) -> None:
    harness = harness_of(recorded)
    harness.send("A", UNIQ_KEY=ID, DELAY="4")
    assert explain(harness).reason is Reason.DELAYED
    harness.advance(30_000)
    assert explain(harness).reason is Reason.AVAILABLE


def test_timed_message_is_available_after_its_time_unless_it_is_recalled(recorded: dict[str, Any]) -> None:
    harness = harness_of(recorded, recall_message_enable=True)
    harness.send("A", UNIQ_KEY=ID, TIMER_DELIVER_MS=str(harness.now_ms + HOUR_MS))
    other = ID[:-1] + "2"
    recalled = harness.send("A", UNIQ_KEY=other, TIMER_DELIVER_MS=str(harness.now_ms + HOUR_MS))
    assert explain(harness).reason is explain(harness, other).reason is Reason.TIMED
    assert recalled.recall_handle is not None
    harness.engine.execute(harness.broker, RecallMessage("A", recalled.recall_handle))
    assert (explain(harness).reason, explain(harness, other).reason) == (Reason.TIMED, Reason.RECALLED)
    harness.advance(HOUR_MS + 2_000)
    harness.heartbeat("client", topics={"A": "*"})
    assert (explain(harness).reason, explain(harness, other).reason) == (Reason.AVAILABLE, Reason.RECALLED)


def test_message_lost_in_a_crash_is_not_called_unknown(recorded: dict[str, Any]) -> None:
    harness = harness_of(recorded)
    harness.send("A", UNIQ_KEY=ID, KEYS="k1 k2")
    harness.engine.crash(harness.broker)
    assert explain(harness).reason is explain(harness, "k2").reason is Reason.LOST_IN_CRASH
