"""POP_ROLLBACK: an administrator switches the broker from KV records back to check points."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import popping
from .pop_records import RECORDS


def roll_back(t: RemotingContext) -> object:
    """Send a POP_ROLLBACK request."""
    return t.request(RequestCode.POP_ROLLBACK)


@remoting_case("AdminBrokerProcessor.transferPopToFsStore")
def a_rollback_without_kv_records_has_no_effect(t: RemotingContext) -> None:
    """POP_ROLLBACK on a broker that already uses check points succeeds as a no-op."""
    group = popping(t, 1)
    handle = group.handle(invisible_ms=60_000)
    t.note("rolled back", roll_back(t), 0)
    t.note("again", roll_back(t), 0)
    t.note("acknowledged", group.ack(handle, 0), 0)
    t.note("with fields and a body", t.request(RequestCode.POP_ROLLBACK, {"topic": group.topic}, b"body"), 0)


@remoting_case("PopConsumerService.transferToFsStore", settings=RECORDS, alone=True)
def messages_in_flight_become_check_points_at_a_rollback(t: RemotingContext) -> None:
    """Messages in flight become check points: they are redelivered in time unless they are acknowledged."""
    group = popping(t, 3)
    handles = group.handles(invisible_ms=6000)
    group.ack(handles[0], 0)
    watch = t.stopwatch()
    t.note("rolled back", roll_back(t), 0)
    t.note("acknowledged after it", group.ack(handles[1], 1), 0)
    t.note("came back", sorted(each.body for each in group.wait_for_copies(2)))
    t.note("after", watch.between(5, 12))
    t.wait(3)
    t.note("copies", group.count_copies())
