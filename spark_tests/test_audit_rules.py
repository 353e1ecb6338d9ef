"""Tests of the verdicts with minimal journals, in plain Python without Spark."""

import io

import pytest
from pyspark_rocketmq.audit import (
    Account,
    AuditRules,
    Event,
    EventKind,
    JournalError,
    audit_events,
    read_lines,
    write_lines,
)

SECOND = 1_000_000


def at(second: float, kind: str, message_id: str | None = "m1", group: str | None = "g", **more: object) -> Event:
    """Create an event of topic `t`, some seconds after the start; an event that concerns no group names none."""
    return Event(int(second * SECOND), EventKind(kind), "t", message_id, group=group, **more)  # type: ignore[arg-type]  # fields by name


def accounts(*events: Event, rules: AuditRules | None = None) -> dict[tuple[str, str], Account]:
    """Return the accounts of a journal by group and message."""
    return {(each.group, each.message_id): each for each in audit_events(events, rules).accounts}


def verdicts(*events: Event, rules: AuditRules | None = None) -> set[str]:
    """Return the verdicts of message `m1` for group `g`."""
    return set(accounts(*events, rules=rules)["g", "m1"].verdicts)


def test_a_message_that_was_delivered_and_acknowledged_has_no_verdict() -> None:
    """A message that is stored, delivered once and acknowledged in time has no verdict."""
    assert verdicts(at(1, "stored"), at(2, "delivered", invisible_ms=5000), at(3, "acked")) == set()


def test_an_undelivered_message_is_lost_for_each_interested_group() -> None:
    """An undelivered message is lost for a group that subscribed, or that acknowledged another message."""
    found = accounts(
        at(0, "subscribed", None, "quiet"),
        at(1, "stored"),
        at(1, "stored", "m2"),
        at(2, "delivered", "m2", "busy"),
        at(3, "acked", "m2", "busy"),
    )
    assert {name: set(each.verdicts) for name, each in found.items()} == {
        ("quiet", "m1"): {"lost"},
        ("quiet", "m2"): {"lost"},
        ("busy", "m1"): {"lost"},
        ("busy", "m2"): set(),
    }


def test_a_message_that_was_delivered_and_never_acknowledged_is_lost() -> None:
    assert verdicts(at(1, "stored"), at(2, "delivered")) == {"lost"}


def test_a_message_that_is_still_invisible_at_the_end_is_pending() -> None:
    """A message is pending if its invisible duration, delay or retry time reaches beyond the end of the journal."""
    assert verdicts(at(1, "stored"), at(2, "delivered", invisible_ms=5000), at(3, "stored", "m2")) == {"pending"}
    assert verdicts(at(0, "subscribed", None), at(1, "stored", deliver_at_us=9 * SECOND)) == {"pending"}
    assert verdicts(at(1, "stored"), at(2, "delivered"), at(3, "nacked", invisible_ms=10_000)) == {"pending"}
    end = AuditRules(end_us=60 * SECOND)
    assert verdicts(at(1, "stored"), at(2, "delivered", invisible_ms=5000), rules=end) == {"lost"}


def test_a_late_acknowledgement_before_an_unacknowledged_redelivery_is_not_recovered() -> None:
    """The retry was not successful: the broker rejected the acknowledgement, and there was no other."""
    first = [at(1, "stored"), at(2, "delivered", invisible_ms=3000), at(6, "acked")]
    assert verdicts(*first, at(7, "delivered", invisible_ms=3000)) == set()
    assert verdicts(*first, at(7, "delivered", invisible_ms=3000), at(8, "acked")) == {"recovered"}


def test_a_redelivery_of_an_unacknowledged_message_is_recovered() -> None:
    """A redelivery after the invisible duration, a return or the loss of a pulling consumer is recovered."""
    stored, acked = at(1, "stored"), at(9, "acked")
    assert verdicts(stored, at(2, "delivered", invisible_ms=3000), at(5, "delivered"), acked) == {"recovered"}
    given_back = (at(2, "delivered", invisible_ms=60_000), at(3, "nacked"), at(4, "delivered"))
    assert verdicts(stored, *given_back, acked) == {"recovered"}
    assert verdicts(stored, at(2, "delivered"), at(4, "delivered"), acked) == {"recovered"}


def test_a_redelivery_of_an_acknowledged_message_is_duplicated() -> None:
    """A redelivery after an acknowledgement in time, or after the dead letter queue, is a duplicate."""
    begin = (at(1, "stored"), at(2, "delivered", invisible_ms=3000))
    assert verdicts(*begin, at(3, "acked"), at(4, "delivered"), at(5, "acked")) == {"duplicated"}
    assert verdicts(*begin, at(5.5, "deadlettered"), at(6, "delivered")) == {"duplicated", "dead"}


def test_an_acknowledgement_that_came_too_late_allows_a_redelivery() -> None:
    """After a late acknowledgement a redelivery is allowed, and without one the message is not lost."""
    begin = (at(1, "stored"), at(2, "delivered", invisible_ms=3000), at(5.1, "acked"))
    assert verdicts(*begin, at(6, "delivered"), at(7, "acked")) == {"recovered"}
    assert verdicts(*begin) == set()


def test_a_delivery_within_the_invisible_duration_is_duplicated() -> None:
    """A delivery within the invisible duration is a duplicate; a change of the duration moves its end."""
    stored, end = at(1, "stored"), at(9, "acked")
    begin = at(2, "delivered", invisible_ms=3000)
    assert verdicts(stored, begin, at(4.9, "delivered"), end) == {"duplicated"}
    longer = at(3, "invisibilityChanged", invisible_ms=5000)
    assert verdicts(stored, begin, longer, at(7, "delivered"), end) == {"duplicated"}
    shorter = at(3, "invisibilityChanged", invisible_ms=1000)
    assert verdicts(stored, begin, shorter, at(4, "delivered"), end) == {"recovered"}


def test_deviations_up_to_the_clock_slack_are_accepted() -> None:
    events = (at(1, "stored"), at(2, "delivered", invisible_ms=3000), at(4.9, "delivered"), at(6, "acked"))
    assert verdicts(*events, rules=AuditRules(clock_slack_ms=100)) == {"recovered"}
    assert verdicts(*events, rules=AuditRules(clock_slack_ms=99)) == {"duplicated"}


def test_a_message_that_was_stored_twice_and_consumed_twice_is_duplicated() -> None:
    """A message that was stored and consumed twice is duplicated, even if the producer repeated the send."""
    life = (at(1, "stored"), at(2, "delivered"), at(3, "acked"), at(4, "stored"), at(5, "delivered"), at(6, "acked"))
    assert verdicts(*life) == {"duplicated"}


def test_a_delivery_of_a_message_that_was_not_stored_is_unexpected() -> None:
    """A delivery of a message that was not stored, only prepared, rolled back or recalled is unexpected."""
    got = (at(5, "delivered"), at(6, "acked"))
    assert verdicts(*got) == {"unexpected"}
    assert verdicts(at(1, "txnPrepared"), *got) == {"unexpected"}
    assert verdicts(at(1, "txnPrepared"), at(2, "txnRolledBack"), *got) == {"unexpected"}
    assert verdicts(at(1, "stored", deliver_at_us=5 * SECOND), at(2, "recalled"), *got) == {"unexpected"}


def test_a_half_message_must_arrive_only_after_its_commit() -> None:
    """A half message may stay away while prepared or rolled back; once committed it must arrive, and not earlier."""
    group = at(0, "subscribed", None)
    assert verdicts(group, at(1, "txnPrepared")) == set()
    assert verdicts(group, at(1, "txnPrepared"), at(2, "txnRolledBack")) == set()
    assert verdicts(group, at(1, "txnPrepared"), at(2, "txnCommitted")) == {"lost"}
    half = (at(1, "txnPrepared"), at(1.5, "delivered"), at(2, "txnCommitted"), at(3, "acked"))
    assert verdicts(*half) == {"early"}


def test_a_message_whose_send_failed_may_be_missing_or_delivered() -> None:
    """A message whose send failed is not lost if it is missing, and recovered, not unexpected, if it is delivered."""
    assert verdicts(at(0, "subscribed", None), at(1, "sendFailed")) == set()
    assert verdicts(at(1, "sendFailed"), at(2, "delivered"), at(3, "acked")) == {"recovered"}
    stored = [at(1, "sendFailed"), at(2, "stored"), at(3, "delivered")]
    assert verdicts(*stored, at(4, "acked")) == {"recovered"}  # the journal of the broker, or a second send
    assert "recovered" not in verdicts(*stored)


def test_a_delayed_message_is_early_before_its_time_and_late_long_after_it() -> None:
    """A delayed message is early before, and late long after, the later of its store time and `deliverAtUs`."""
    stored = at(1, "stored", deliver_at_us=10 * SECOND)
    assert verdicts(stored, at(9.9, "delivered"), at(11, "acked")) == {"early"}
    assert verdicts(stored, at(10, "delivered"), at(11, "acked")) == set()
    assert verdicts(stored, at(20, "delivered"), at(21, "acked")) == set()
    assert verdicts(stored, at(20.1, "delivered"), at(21, "acked")) == {"late"}
    assert verdicts(stored, at(12, "delivered"), at(13, "acked"), rules=AuditRules(late_after_ms=1999)) == {"late"}


def test_a_dead_letter_is_dead_and_not_lost() -> None:
    """A message in the dead letter queue is dead, not lost; another group's dead letter changes nothing."""
    found = accounts(at(1, "stored"), at(2, "delivered"), at(3, "deadlettered"), at(3, "delivered", group="other"))
    assert set(found["g", "m1"].verdicts) == {"dead"}
    assert set(found["other", "m1"].verdicts) == {"lost"}


def test_tags_and_start_position_determine_the_messages_of_a_group() -> None:
    """Tags, the start position and skipped messages determine which messages a group must receive."""
    tea = at(1, "stored", tags="tea")
    assert verdicts(at(0, "subscribed", None, expression="tea || coffee"), tea) == {"lost"}
    assert verdicts(at(0, "subscribed", None, expression="coffee"), tea) == set()
    assert verdicts(at(0, "subscribed", None, expression="coffee"), at(1, "stored")) == set()
    both = (at(0, "subscribed", None, expression="coffee"), at(0.5, "subscribed", None, expression="tea"))
    assert verdicts(*both, tea) == {"lost"}
    assert verdicts(at(2, "subscribed", None, consume_from="last"), tea) == set()
    assert verdicts(at(1, "subscribed", None, consume_from="last"), tea) == {"lost"}
    assert verdicts(at(2, "subscribed", None, consume_from="first"), tea) == {"lost"}
    assert verdicts(at(0, "subscribed", None), tea, at(1, "skipped")) == set()


def in_line(*events: Event) -> dict[str, bool]:
    """Return which messages of the message group `line` were overtaken; all are stored in the order of their names."""
    stored = [at(number / 10, "stored", f"m{number}", message_group="line") for number in range(1, 4)]
    found = accounts(*stored, *events)
    return {name: "out of order" in account.verdicts for (_, name), account in found.items()}


def test_a_message_delivered_after_a_later_one_is_out_of_order() -> None:
    """A first delivery after that of a later message is out of order; redeliveries do not count."""
    m1, m2, m3 = (at(number, "delivered", f"m{number}") for number in range(1, 4))
    again = at(5, "delivered", "m1")
    assert in_line(m1, m2, m3, again) == {"m1": False, "m2": False, "m3": False}
    assert in_line(m1, m3, at(4, "delivered", "m2")) == {"m1": False, "m2": True, "m3": False}


def test_a_message_that_waits_for_redelivery_must_not_be_overtaken() -> None:
    """A message that waits for redelivery is overtaken if a later one arrives before it is redelivered or given up."""
    m1, failed, again = at(1, "delivered", "m1"), at(1.1, "nacked", "m1"), at(4, "delivered", "m1")
    m2 = at(2, "delivered", "m2")
    assert in_line(m1, failed, m2, again) == {"m1": True, "m2": False, "m3": False}
    assert in_line(m1, failed, m2)["m1"]
    assert in_line(m1, failed, at(1.5, "delivered", "m1"), m2) == {"m1": False, "m2": False, "m3": False}
    assert in_line(m1, failed, at(1.5, "deadlettered", "m1"), m2) == {"m1": False, "m2": False, "m3": False}
    assert in_line(m1, m2, at(3, "nacked", "m1"), again) == {"m1": False, "m2": False, "m3": False}


def test_messages_without_a_message_group_have_no_order() -> None:
    """Messages without a message group, or of different ones, are never out of order."""
    found = accounts(
        at(1, "stored", "m1", message_group="a"),
        at(2, "stored", "m2", message_group="b"),
        at(2, "stored", "m3"),
        *(at(9 - number, "delivered", f"m{number}") for number in (1, 2, 3)),
        *(at(9.5, "acked", f"m{number}") for number in (1, 2, 3)),
    )
    assert not any(each.verdicts for each in found.values())
    assert [each.key for each in found.values()] == ["a", "b", None]


def test_a_message_stored_in_one_run_is_unexpected_in_another() -> None:
    """A message stored in one run is unknown in another run."""
    stored, got = at(1, "stored", run_id="a"), at(2, "delivered", run_id="b")
    [account] = audit_events([stored, got]).accounts
    assert (account.run_id, set(account.verdicts)) == ("b", {"unexpected"})


def test_seq_orders_the_events_of_a_run() -> None:
    """`seq` determines the order of events, regardless of their time."""
    life = (at(1, "stored", seq=1), at(2, "delivered", seq=2), at(2, "acked", seq=3), at(2, "delivered", seq=4))
    assert verdicts(*life) == {"duplicated"}
    with pytest.raises(JournalError, match="1 of 2 events have a seq"):
        audit_events([at(1, "stored", seq=1), at(2, "delivered")])


def test_a_failed_assertion_shows_the_message_and_its_events() -> None:
    audit = audit_events([at(1, "stored"), at(2, "delivered"), at(3, "acked"), at(4, "delivered")])
    audit.assert_none("lost", "unexpected")
    with pytest.raises(AssertionError, match=r"1 duplicated\nm1 of t for g: duplicated\n +1.000000 stored"):
        audit.assert_none()
    with pytest.raises(ValueError, match="there is no verdict 'losst'; there are lost"):
        audit.assert_none("losst")


def test_a_failed_assertion_shows_a_message_with_two_verdicts_once() -> None:
    audit = audit_events([at(2, "delivered"), at(3, "acked"), at(4, "delivered")])
    with pytest.raises(AssertionError, match=r"1 duplicated, 1 unexpected\n") as failed:
        audit.assert_none()
    assert str(failed.value).count("m1 of t for g: duplicated, unexpected") == 1


def test_every_column_survives_a_round_trip_through_a_file() -> None:
    """Every column survives a round trip through a file, and unknown columns are ignored."""
    events = [
        at(1, "stored", seq=1, run_id="r", message_group="a", keys="k", tags="tea", deliver_at_us=5),
        at(2, "subscribed", None, seq=2, run_id="r", expression="tea", consume_from="last"),
        at(3, "delivered", seq=3, run_id="r", invisible_ms=10),
    ]
    file = io.StringIO()
    assert write_lines(events, file) == 3
    lines = file.getvalue().replace('{"run_id"', '{"bodyCRC": 7, "run_id"').splitlines()
    assert list(read_lines([lines[0], "", *lines[1:]])) == events


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"ts_us": 1, "event": "stored", "topic": "t"', "line 1: not a line of JSON"),
        ("[" * 100_000, "line 1: not a line of JSON"),
        ("[]", "not an object"),
        ('{"event": "stored", "topic": "t", "msgId": "m"}', "there is no ts_us"),
        ('{"ts_us": 1, "event": "lost", "topic": "t", "msgId": "m"}', "no event is called 'lost'; there are stored"),
        ('{"ts_us": 1.5, "event": "stored", "topic": "t", "msgId": "m"}', "ts_us is not a whole number"),
        ('{"ts_us": -1, "event": "stored", "topic": "t", "msgId": "m"}', "ts_us is out of range"),
        ('{"ts_us": 1, "event": "stored", "topic": "t"}', "there is no msgId"),
        ('{"ts_us": 1, "event": "acked", "topic": "t", "msgId": "m"}', "there is no group"),
        ('{"ts_us": 1, "event": "subscribed", "topic": "t", "group": "g", "consumeFrom": "x"}', "neither first nor"),
    ],
)
def test_a_malformed_line_is_refused_with_its_reason(line: str, problem: str) -> None:
    """A malformed line is rejected with its number and the reason."""
    with pytest.raises(JournalError, match=problem):
        list(read_lines([line]))
