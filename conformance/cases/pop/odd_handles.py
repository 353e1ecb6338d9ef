"""Forged handles and extreme numbers: which requests are rejected, which are accepted, and their effect."""

from collections.abc import Callable

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.receipt_handles import forged
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.pops import PopGroup, bodies, popping
from .batch_ack import batch_ack, entry

_ORDERED = "999"
_LARGEST = str(2**63 - 1)
BUSY_MS = 12_000
"""Invisible duration in ms, longer than a busy broker needs for the many requests of a case."""


def forgeries(t: Remoting, handle: str) -> dict[str, str]:
    """Return forged copies of a handle, each with one field changed, by a description of the change."""
    return {
        "an ordered pop": forged(handle, revive=_ORDERED),
        "revive queue -1": forged(handle, revive="-1"),
        "revive queue 8": forged(handle, revive="8"),
        "an hour from now": forged(handle, popped=str(t.now_ms() + 3_600_000)),
        "pop time 0": forged(handle, popped="0"),
        "pop time -1": forged(handle, popped="-1"),
        "the last pop time": forged(handle, popped=_LARGEST),
        "invisible time -1": forged(handle, invisible="-1"),
        "the longest invisible time": forged(handle, invisible=_LARGEST),
        "start -1": forged(handle, start="-1"),
        "the last start": forged(handle, start=_LARGEST),
        "start behind the offset": forged(handle, start="5"),
        "a retry topic": forged(handle, digit="1"),
        "another kind of topic": forged(handle, digit="%"),
        "another broker": forged(handle, broker="elsewhere"),
        "queue -1": forged(handle, queue="-1"),
        "offset -1": forged(handle, offset="-1"),
    }


def see_each(group: PopGroup, forged: dict[str, str], ask: Callable[[str], Answer]) -> None:
    """Record the response for each forged handle, and the group's committed offset afterwards."""
    for what, handle in forged.items():
        answer = ask(handle)
        group.t.see(what, [answer.code, answer.remark])
    group.t.see("committed", group.committed())


@remoting_case("AckMessageProcessor.appendAck")
def a_forged_acknowledgement_changes_nothing(t: Remoting) -> None:
    """After acks with forged handles, the message is redelivered exactly once. The responses differ."""
    group = popping(t, 1)
    handle = group.handle(invisible_ms=BUSY_MS)
    group.reaches(1)
    forged = {
        what: each
        for what, each in forgeries(t, handle).items()
        if what not in ("a retry topic", "another kind of topic", "another broker", "queue -1", "offset -1")
    }
    see_each(group, forged, lambda each: group.ack(each, 0))
    t.see("came back", bodies(group.copies()))
    t.wait(3)
    t.see("copies", group.copied())


@remoting_case("AckMessageProcessor.appendAck")
def some_forged_handles_acknowledge(t: Remoting) -> None:
    """An acknowledgement ignores the topic kind, broker, queue and offset fields of its handle."""
    for what in ("a retry topic", "another kind of topic", "another broker", "queue -1", "offset -1"):
        group = popping(t, 1)
        handle = group.handle(invisible_ms=2000)
        answer = group.ack(forgeries(t, handle)[what], 0)
        t.see(what, [answer.code, answer.remark])
        t.wait(7)
        t.see(f"{what}: copies", group.copied())


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_forged_change(t: Remoting) -> None:
    """A change with each kind of forged handle leaves the group's committed offset unchanged."""
    group = popping(t, 1)
    handle = group.handle(invisible_ms=60_000)
    group.reaches(1)
    forged = forgeries(t, handle)
    see_each(group, forged, lambda each: group.change(each, 0, 3_000_000))
    t.see("acknowledged", group.ack(handle, 0), 0)


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def some_forged_changes_bring_a_copy(t: Remoting) -> None:
    """A change with a forged handle succeeds and, for most fields, redelivers the message.

    The original pop ends only if the handle matches its check point.
    """
    forged: dict[str, tuple[PopGroup, Answer]] = {}
    watch = t.stopwatch()
    for what in forgeries(t, "0 0 0 0 0 broker 0 0"):
        group = popping(t, 1)
        handle = group.handle(invisible_ms=16_000)
        forged[what] = group, group.change(forgeries(t, handle)[what], 0, 2000)
    t.require(watch.seconds < 8, "the broker was too slow for what is looked at")
    t.wait(13 - watch.seconds)
    soon = {what: group.copied() for what, (group, _) in forged.items()}
    t.wait(26 - watch.seconds)
    for what, (group, answer) in forged.items():
        t.see(what, [answer.code, soon[what], group.copied(), bodies(group.copies(soon[what])), group.committed()])


@remoting_case("AckMessageProcessor.ackOrderly")
def a_handle_forged_to_be_ordered_passes_the_message(t: Remoting) -> None:
    """A forged ordered handle of a group without a batch in flight moves the group's offset past the message."""
    group = popping(t, 3)
    group.commit(0)
    made = f"0 {t.now_ms()} 60000 {_ORDERED} 0 {t.broker_name} 0 1"
    t.see("acknowledged", group.ack(made, 1), 0)
    t.see("committed", group.reaches(2))
    t.see("popped", group.pop().bodies)


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def a_forged_change_in_order(t: Remoting) -> None:
    """An ordered change by a group without a batch in flight returns a response and hides nothing."""
    group = popping(t, 2)
    made = f"0 {t.now_ms()} 60000 {_ORDERED} 0 {t.broker_name} 0 0"
    t.see("changed", group.change(made, 0, 30_000).without("invisibleTime"), 0)
    t.see("popped in order", group.pop_in_order(1).bodies)


@remoting_case("AckMessageProcessor.processRequest")
def handles_are_longer_or_no_text(t: Remoting) -> None:
    """A handle with tabs, a leading blank, or hexadecimal or fractional numbers is rejected.

    Plus signs, leading zeros, other alphabets and extra fields are accepted.
    """
    group = popping(t, 1)
    handle = group.handle(invisible_ms=60_000)
    odd = {
        "tabs": handle.replace(" ", "\t"),
        "a leading blank": " " + handle,
        "a trailing blank": handle + " ",
        "a plus sign": forged(handle, start="+0"),
        "a leading zero": forged(handle, start="000"),
        "hexadecimal": forged(handle, start="0x0"),
        "a fraction": forged(handle, popped="1.5"),
        "letters": forged(handle, broker="посредник"),
        "10000 fields": handle + " 1" * 10_000,
        "a field of 10000 digits": forged(handle, popped="1" * 10_000),
    }
    for what, text in odd.items():
        for done, answer in ("acknowledged", group.ack(text, 0)), ("changed", group.change(text, 0, 60_000)):
            remark = answer.remark or ""
            t.see(f"{done} with {what}", [answer.code, remark if len(remark) < 400 else f"{remark[:60]} ..."])


# # Check points with such times delay later ones in their revive queue, so this case runs on its own broker.
@remoting_case("AckMessageProcessor.processRequest, ChangeInvisibleTimeProcessor.processRequest", alone=True)
def numbers_beside_a_handle_have_bounds(t: Remoting) -> None:
    """Extreme queues and offsets with a valid handle change nothing.

    After extreme durations the message is redelivered.
    """
    group = popping(t, 1)
    handle = group.handle(invisible_ms=60_000)
    for queue in (1, -1, 2**31 - 1, -(2**31)):
        t.see(f"acknowledged in queue {queue}", group.ack(handle, 0, queue=queue), 13)
        t.see(f"changed in queue {queue}", group.change(handle, 0, 1000, queue=queue), 13)
    for offset in (1, 2, -1, 2**63 - 1, -(2**63)):
        t.see(f"acknowledged at {offset}", group.ack(handle, offset).code)
        t.see(f"changed at {offset}", group.change(handle, offset, 1000).code)
    t.see("still out", group.pop(), 210)
    for invisible in (2**63 - 1, -(2**63), 4 * 86_400_000):
        answer = group.change(handle, 0, invisible)
        t.see(f"changed to {invisible}", [answer.code, answer.remark])
    t.see("came back", bodies(group.copies())[:1])


@remoting_case("AckMessageProcessor.processRequest")
def numbers_of_a_batch_have_bounds(t: Remoting) -> None:
    """Batch entries with extreme starts, queues, revive queues, times or bits are skipped, or count as far as valid."""
    group = popping(t, 2)
    handle = group.handles(invisible_ms=BUSY_MS)[0]
    odd: dict[str, dict[str, object]] = {
        "start": {"so": -1},
        "the last start": {"so": 2**63 - 1},
        "queue": {"q": 2**31 - 1},
        "queue -1": {"q": -1},
        "revive queue": {"rq": -1},
        "revive queue 8": {"rq": 8},
        "pop time": {"pt": 2**63 - 1},
        "future": {"pt": t.now_ms() + 3_600_000},
        "kind of topic": {"r": "9"},
        "no topic": {"t": None},
        "no group": {"c": None},
        "no bits": {"b": ""},
        "no bits at all": {"b": None},
        "other bits": {"b": "!"},
    }
    for what, fields in odd.items():
        answer = batch_ack(t, {**entry(group, handle, [0, 1]), **fields})
        t.see(what, [answer.code, answer.remark if what != "other bits" else None])
    t.see("bits behind the end", batch_ack(t, entry(group, handle, [40, 63])))
    named = {"acks": [entry(group, handle, [99])], "brokerName": "elsewhere"}
    t.see("another broker", t.ask(RequestCode.BATCH_ACK_MESSAGE, None, dumps(named)))
    t.see("came back", bodies(group.copies(2)))


@remoting_case("AckMessageProcessor.processRequest")
def a_batch_may_have_many_entries(t: Remoting) -> None:
    """A batch of 1000 entries, 999 of them for unknown topics, acknowledges the valid one."""
    group = popping(t, 2)
    handle = group.handles(invisible_ms=BUSY_MS)[0]
    unknown = {**entry(group, handle, [0]), "t": t.new()}
    t.see("acknowledged", batch_ack(t, *[unknown] * 999, entry(group, handle, [1])), 0)
    t.see("came back", bodies(group.copies()))
