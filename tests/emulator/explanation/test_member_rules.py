"""Verdicts about members of a group that subscribe differently."""

from dataclasses import replace

from explained_situations import C1, C2, COPY, Situation, event, events, group, member, read
from fake_inspection import FakeHistory
from prepared_past import message_of
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.history.record_kind import RecordKind
from rocketmq_testkit.emulator.inspection.groups import MemberView, SubscriptionView

SQL = (SubscriptionView("orders", "price > 10", "SQL92", 1),)


def delivered_to_c2(price: str, *members: MemberView) -> Situation:
    """A message with tag `a` that client C2 has received and passed. The members disagree."""
    deliveries = events(event(RecordKind.PULLED, 1_000, C2), event(RecordKind.COMMITTED, 6_000, C2))
    members_disagree = group(*members, disagreements=("orders",))
    return read(5, members_disagree, past=FakeHistory(deliveries=deliveries), message=message_of(COPY, price=price))


def test_an_sdk_drops_no_message_by_an_sql_expression() -> None:
    """SDKs filter again by tags only, so the application got the message."""
    by_sql = replace(member(C2), subscriptions=SQL)
    assert delivered_to_c2("9", by_sql, member(C1)).explain().reason is Reason.ACKNOWLEDGED


def test_the_sql_expression_of_another_member_is_shown_without_a_tag() -> None:
    found = delivered_to_c2("11", member(C2, "b"), replace(member(C1), subscriptions=SQL)).explain()
    assert found.reason is Reason.FILTERED_BY_MEMBER
    assert str(found).endswith(f"{C1} subscribes `price > 10`")
