"""Queries by key and time: the store time that the index keeps of a message."""

from rocketmq_testkit.remoting.client import ReceivedMessage

from ...case import remoting_case
from ...worlds.remoting import Remoting


@remoting_case("IndexFile.putKey", alone=True)
def an_index_counts_seconds_from_its_first_message(t: Remoting) -> None:
    """The index stores times as whole seconds after its first message, and a time range is compared with those."""
    topic = t.topic(queues=1)
    stored: list[ReceivedMessage] = []
    for number, pause in enumerate((0.0, 1.4, 1.4)):
        t.wait(pause)
        t.readable(topic, t.send(topic, f"m{number}", keys="k"))
        stored.append(t.message_at(topic, 0, number))

    def found(begin: int, end: int) -> list[str]:
        answer = t.query(topic, "k", beginTimestamp=begin, endTimestamp=end)
        return answer.bodies if answer.code == 0 else []

    first, second, third = (each.store_timestamp for each in stored)
    t.until(lambda: len(found(0, third + 60_000)) == 3, 5)
    remembered = [first + (time - first) // 1000 * 1000 for time in (first, second, third)]
    for number, (time, seconds) in enumerate(zip((first, second, third), remembered, strict=True)):
        t.see(f"m{number}, its time", found(time, time))
        t.see(f"m{number}, its seconds", found(seconds, seconds))
        t.see(f"m{number}, a millisecond after its seconds", found(seconds + 1, seconds + 1))
    t.see("until the second", found(0, second))
    t.see("from the second on", found(second, third + 60_000))
    t.see("before the first", found(0, first - 1))
    t.see("after the last", found(third + 1, third + 60_000))
