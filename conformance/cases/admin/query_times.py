"""Queries by key and time: the store time that the index keeps of a message."""

from rocketmq_testkit.remoting.client import ReceivedMessage

from ...case import remoting_case
from ...context.remoting import RemotingContext


@remoting_case("IndexFile.putKey", alone=True)
def an_index_counts_seconds_from_its_first_message(t: RemotingContext) -> None:
    """The index stores times as whole seconds after its first message, and compares a time range with these.

    The case has a broker of its own, whose index is new: its first message is m0.
    """
    topic = t.topic(queues=1)
    stored: list[ReceivedMessage] = []
    for number, pause in enumerate((0.0, 1.4, 1.4)):
        t.wait(pause)
        t.readable(topic, t.send(topic, f"m{number}", keys="k"))
        stored.append(t.message_at(topic, 0, number))

    def found(begin: int, end: int) -> list[str]:
        response = t.query(topic, "k", beginTimestamp=begin, endTimestamp=end)
        return response.bodies if response.code == 0 else []

    first, second, third = (each.store_timestamp for each in stored)
    t.until(lambda: len(found(0, third + 60_000)) == 3, 5)
    remembered = [first + (time - first) // 1000 * 1000 for time in (first, second, third)]
    for number, (time, seconds) in enumerate(zip((first, second, third), remembered, strict=True)):
        t.note(f"m{number}, its time", found(time, time))
        t.note(f"m{number}, its seconds", found(seconds, seconds))
        t.note(f"m{number}, a millisecond after its seconds", found(seconds + 1, seconds + 1))
    t.note("until the second", found(0, second))
    t.note("from the second on", found(second, third + 60_000))
    t.note("before the first", found(0, first - 1))
    t.note("after the last", found(third + 1, third + 60_000))
