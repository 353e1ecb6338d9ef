"""Requests with forged handles and extreme numbers: their responses, and their effect.

A forged handle is a copy of a valid receipt handle with another value in one field.
"""

from collections.abc import Callable

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.receipt_handles import forged
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, bodies, popping
from .batch_ack import batch_ack, entry

_ORDERED = "999"
"""The revive queue in handles of ordered pops."""
_LARGEST = str(2**63 - 1)
_ILLEGAL, _NOTHING_FOUND = 13, 210
"""Upstream's codes MESSAGE_ILLEGAL and POLLING_TIMEOUT."""
BUSY_MS = 12_000
"""Invisible duration in ms, longer than a busy broker needs for the many requests of a case."""
_REVIVED_SECONDS = 5
"""The longest time from the end of an invisible duration to the redelivery, in seconds."""


def forged_handles(t: RemotingContext, handle: str) -> dict[str, str]:
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


def note_each(group: PopGroup, forged: dict[str, str], request: Callable[[str], DecodedResponse]) -> None:
    """Record the response for each forged handle, and the group's committed offset afterwards."""
    for what, handle in forged.items():
        response = request(handle)
        group.t.note(what, [response.code, response.remark])
    group.t.note("committed", group.committed())


@remoting_case("AckMessageProcessor.appendAck")
def acks_with_forged_handles_do_not_prevent_redelivery(t: RemotingContext) -> None:
    """After acks with forged handles, the message is redelivered exactly once. The responses differ."""
    group = popping(t, 1)
    handle = group.handle(invisible_ms=BUSY_MS)
    group.wait_until_committed(1)
    forged = {
        what: each
        for what, each in forged_handles(t, handle).items()
        if what not in ("a retry topic", "another kind of topic", "another broker", "queue -1", "offset -1")
    }
    note_each(group, forged, lambda each: group.ack(each, 0))
    t.note("came back", bodies(group.wait_for_copies()))
    t.wait(3)  # A second copy would follow the first one within this time.
    t.note("copies", group.count_copies())


@remoting_case("AckMessageProcessor.appendAck")
def an_ack_ignores_topic_kind_broker_queue_and_offset_in_its_handle(t: RemotingContext) -> None:
    """An acknowledgement ignores topic kind, queue and offset of its handle.

    One with another broker name also succeeds, but the message is redelivered.
    """
    for what in ("a retry topic", "another kind of topic", "another broker", "queue -1", "offset -1"):
        group = popping(t, 1)
        handle = group.handle(invisible_ms=2000)
        response = group.ack(forged_handles(t, handle)[what], 0)
        t.note(what, [response.code, response.remark])
        t.wait(2 + _REVIVED_SECONDS)
        t.note(f"{what}: copies", group.count_copies())


@remoting_case("ChangeInvisibleTimeProcessor.processRequest")
def a_change_with_a_forged_handle_keeps_the_committed_offset(t: RemotingContext) -> None:
    """A change with each kind of forged handle leaves the group's committed offset unchanged."""
    group = popping(t, 1)
    handle = group.handle(invisible_ms=60_000)
    group.wait_until_committed(1)
    forged = forged_handles(t, handle)
    note_each(group, forged, lambda each: group.change(each, 0, 3_000_000))  # 50 minutes, longer than the case
    t.note("acknowledged", group.ack(handle, 0), 0)


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def most_changes_with_forged_handles_redeliver_the_message(t: RemotingContext) -> None:
    """A change with a forged handle succeeds and, for most fields, redelivers the message after the new duration.

    The original pop ends only if the handle matches its check point. Otherwise the message is redelivered once more,
    after the duration of that pop.
    """
    popped_ms, changed_ms, count_after_s = 16_000, 2000, 13
    changes: dict[str, tuple[PopGroup, DecodedResponse]] = {}
    watch = t.stopwatch()
    # Any handle yields the descriptions of the changes.
    for what in forged_handles(t, "0 0 0 0 0 broker 0 0"):
        group = popping(t, 1)
        handle = group.handle(invisible_ms=popped_ms)
        changes[what] = group, group.change(forged_handles(t, handle)[what], 0, changed_ms)
    # The first count is after the redelivery of the last change, and before the end of the first pop.
    t.require(watch.seconds < 8, "the broker was too slow for this case")
    t.wait(count_after_s - watch.seconds)
    soon = {what: group.count_copies() for what, (group, _) in changes.items()}
    # The second count is after the redelivery of the last pop.
    t.wait(2 * count_after_s - watch.seconds)
    for what, (group, response) in changes.items():
        copies = group.count_copies()
        found = bodies(group.wait_for_copies(soon[what]))
        t.note(what, [response.code, soon[what], copies, found, group.committed()])


@remoting_case("AckMessageProcessor.ackOrderly")
def an_ack_with_a_forged_ordered_handle_moves_the_offset_past_the_message(t: RemotingContext) -> None:
    """Without an ordered batch in flight, an ack with a forged ordered handle moves the offset past the message."""
    group = popping(t, 3)
    group.commit(0)
    made = f"0 {t.now_ms()} 60000 {_ORDERED} 0 {t.broker_name} 0 1"
    t.note("acknowledged", group.ack(made, 1), 0)
    t.note("committed", group.wait_until_committed(2))
    t.note("popped", group.pop().bodies)


@remoting_case("ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForOrder")
def an_ordered_change_without_a_batch_in_flight_hides_no_message(t: RemotingContext) -> None:
    """Without an ordered batch in flight, an ordered change succeeds and hides no message."""
    group = popping(t, 2)
    made = f"0 {t.now_ms()} 60000 {_ORDERED} 0 {t.broker_name} 0 0"
    t.note("changed", group.change(made, 0, 30_000).without("invisibleTime"), 0)
    t.note("popped in order", group.pop_in_order(1).bodies)


@remoting_case("AckMessageProcessor.processRequest")
def handles_with_tabs_or_non_decimal_numbers_are_refused(t: RemotingContext) -> None:
    """A handle with tabs, a leading blank, or a number that is hexadecimal, fractional or too long is rejected.

    A trailing blank, plus signs, leading zeros, other alphabets and extra fields are accepted.
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
        for done, response in ("acknowledged", group.ack(text, 0)), ("changed", group.change(text, 0, 60_000)):
            remark = response.remark or ""
            t.note(f"{done} with {what}", [response.code, remark if len(remark) < 400 else f"{remark[:60]} ..."])


@remoting_case("ExtraInfoUtil.split")
def a_handle_without_fields_behind_its_topic_kind_is_refused(t: RemotingContext) -> None:
    """Empty fields at the end of a handle count as missing, so a handle that ends before its broker is rejected."""
    group = popping(t, 1)
    for what, text in {
        "an empty broker": f"0 {t.now_ms()} 60000 0 0 ",
        "three empty fields": f"0 {t.now_ms()} 60000 0 0   ",
        "blanks alone": "   ",
    }.items():
        for done, response in ("acknowledged", group.ack(text, 0)), ("changed", group.change(text, 0, 60_000)):
            t.note(f"{done} with {what}", [response.code, response.remark])


# Check points with extreme durations delay later ones in their revive queue, so this case runs on its own broker.
@remoting_case("AckMessageProcessor.processRequest, ChangeInvisibleTimeProcessor.processRequest", alone=True)
def extreme_queues_and_offsets_with_a_valid_handle_have_no_effect(t: RemotingContext) -> None:
    """Extreme queues and offsets with a valid handle change nothing.

    The largest and the smallest duration are accepted, and the message is redelivered. 4 days are rejected: they exceed
    timerMaxDelaySec.
    """
    group = popping(t, 1)
    handle = group.handle(invisible_ms=60_000)
    for queue in (1, -1, 2**31 - 1, -(2**31)):
        t.note(f"acknowledged in queue {queue}", group.ack(handle, 0, queue=queue), _ILLEGAL)
        t.note(f"changed in queue {queue}", group.change(handle, 0, 1000, queue=queue), _ILLEGAL)
    for offset in (1, 2, -1, 2**63 - 1, -(2**63)):
        t.note(f"acknowledged at {offset}", group.ack(handle, offset).code)
        t.note(f"changed at {offset}", group.change(handle, offset, 1000).code)
    t.note("still out", group.pop(), _NOTHING_FOUND)
    for invisible in (2**63 - 1, -(2**63), 4 * 86_400_000):
        response = group.change(handle, 0, invisible)
        t.note(f"changed to {invisible}", [response.code, response.remark])
    t.note("came back", bodies(group.wait_for_copies())[:1])


@remoting_case("AckMessageProcessor.processRequest")
def batch_ack_entries_with_out_of_range_values_are_skipped(t: RemotingContext) -> None:
    """A batch entry with an extreme or missing field acknowledges no message.

    Most such entries succeed. Those without topic or bit set, or with an unknown topic kind or an illegal bit set, are
    rejected.
    """
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
        response = batch_ack(t, {**entry(group, handle, [0, 1]), **fields})
        t.note(what, [response.code, response.remark if what != "other bits" else None])
    t.note("bits behind the end", batch_ack(t, entry(group, handle, [40, 63])))
    named = {"acks": [entry(group, handle, [99])], "brokerName": "elsewhere"}
    t.note("another broker", t.request(RequestCode.BATCH_ACK_MESSAGE, None, dumps(named)))
    t.note("came back", bodies(group.wait_for_copies(2)))


@remoting_case("AckMessageProcessor.processRequest")
def a_batch_ack_of_1000_entries_acknowledges_the_valid_one(t: RemotingContext) -> None:
    """A batch of 1000 entries, 999 of them for an unknown topic, acknowledges the valid one."""
    group = popping(t, 2)
    handle = group.handles(invisible_ms=BUSY_MS)[0]
    unknown = {**entry(group, handle, [0]), "t": t.new()}
    t.note("acknowledged", batch_ack(t, *[unknown] * 999, entry(group, handle, [1])), 0)
    t.note("came back", bodies(group.wait_for_copies()))
