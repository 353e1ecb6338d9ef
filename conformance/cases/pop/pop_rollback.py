"""POP_ROLLBACK: an administrator switches the broker from KV records back to check points."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.pops import popping
from ...worlds.remoting import Remoting
from .pop_records import RECORDS


def roll_back(t: Remoting) -> object:
    """Send a POP_ROLLBACK request."""
    return t.ask(RequestCode.POP_ROLLBACK)


@remoting_case("AdminBrokerProcessor.transferPopToFsStore")
def without_records_there_is_nothing_to_roll_back(t: Remoting) -> None:
    """POP_ROLLBACK on a broker that already uses check points succeeds as a no-op."""
    group = popping(t, 1)
    handle = group.handle(invisible_ms=60_000)
    t.see("rolled back", roll_back(t), 0)
    t.see("again", roll_back(t), 0)
    t.see("acknowledged", group.ack(handle, 0), 0)
    t.see("with fields and a body", t.ask(RequestCode.POP_ROLLBACK, {"topic": group.topic}, b"body"), 0)


@remoting_case("PopConsumerService.transferToFsStore", settings=RECORDS, alone=True)
def what_is_out_goes_on_as_check_points(t: Remoting) -> None:
    """Messages in flight become check points: they are redelivered in time unless they are acknowledged."""
    group = popping(t, 3)
    handles = group.handles(invisible_ms=6000)
    group.ack(handles[0], 0)
    watch = t.stopwatch()
    t.see("rolled back", roll_back(t), 0)
    t.see("acknowledged after it", group.ack(handles[1], 1), 0)
    t.see("came back", sorted(each.body for each in group.copies(2)))
    t.see("after", watch.between(5, 12))
    t.wait(3)
    t.see("copies", group.copied())
