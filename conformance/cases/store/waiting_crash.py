"""Delayed, timed and half messages after a crash of the broker, with synchronous flush."""

from collections.abc import Mapping

from rocketmq_testkit.remoting.client import ReceivedMessage, decode_messages
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...deployment.target import Capability
from ...helpers.timers import recall, timed
from ...helpers.transactions import COMMIT, FAST_CHECKS, ROLLBACK, TWO_CHECKS, checks, transacting

CRASHES = frozenset({Capability.ADMIN, Capability.CRASH})
ON_DISK: Mapping[str, str] = {"flushDiskType": "SYNC_FLUSH"}
WRITTEN_SECONDS = 12
"""Time (s) after which offsets are in their files. A broker writes them 10 s after its start."""


def bodies(messages: list[ReceivedMessage]) -> list[str]:
    """Return the distinct bodies, because a crash may deliver a message twice."""
    return sorted({message.body.decode() for message in messages})


def messages_of(found: list[RemotingCommand]) -> list[ReceivedMessage]:
    """Return the messages of transaction checks."""
    return [message for check in found for message in decode_messages(check.body)]


@remoting_case("ScheduleMessageService.load", needs=CRASHES, tidy=True, settings=ON_DISK)
def delayed_messages_are_delivered_after_a_crash(t: RemotingContext) -> None:
    """A delayed message is delivered after a crash, even if its time was reached while the broker was down."""
    topic = t.topic(queues=1)
    t.wait(WRITTEN_SECONDS)
    for level in (1, 2, 3, 4):
        t.send(topic, f"level {level}", properties={"DELAY": str(level)})
    t.note("before", bodies(t.stored(topic).messages))
    watch = t.stopwatch()
    t.crash()
    t.until(lambda: len(bodies(t.stored(topic).messages)) == 4, 60)
    t.note("the last after", watch.between(25, 50))
    t.note("after", bodies(t.stored(topic).messages))


@remoting_case("TimerMessageStore.recover", needs=CRASHES, tidy=True, settings=ON_DISK)
def timed_messages_are_delivered_after_a_crash_unless_recalled(t: RemotingContext) -> None:
    """A timed message is delivered after a crash; one recalled before the crash is not."""
    topic = t.topic(queues=1)
    for seconds in (6, 20, 40):
        sent = timed(t, topic, seconds * 1000, f"{seconds} s")
        back = timed(t, topic, seconds * 1000, f"{seconds} s, taken back")
        t.note("recalled", recall(t, topic, back["recallHandle"]), 0)
        t.require(sent.code == 0, f"not taken: {sent}")
    t.wait(3)
    watch = t.stopwatch()
    t.crash()
    t.until(lambda: len(bodies(t.stored(topic).messages)) >= 3, 70)
    t.note("the last after", watch.between(34, 60))
    t.wait(3)
    t.note("after", bodies(t.stored(topic).messages))


@remoting_case("TransactionalMessageServiceImpl.check", needs=CRASHES, alone=True, settings={**FAST_CHECKS, **ON_DISK})
def only_half_messages_without_an_end_are_checked_after_a_crash(t: RemotingContext) -> None:
    """After a crash a half message without an end is checked again; a committed or rolled back one is not."""
    producers = transacting(t)
    connection = producers.connect()
    t.wait(WRITTEN_SECONDS)
    sent = {body: producers.half(body) for body in ("committed", "rolled back", "open")}
    t.note("commit", producers.end(sent["committed"], COMMIT), 0)
    t.note("rollback", producers.end(sent["rolled back"], ROLLBACK), 0)
    t.note("asked before", bodies(messages_of(checks(t, connection))))
    t.wait(6)  # until the check's committed offset is written
    t.crash()
    producers.half("new")
    connection = producers.connect()
    newest: dict[str, RemotingCommand] = {}

    def both() -> bool:
        newest.update({bodies(messages_of([check]))[0]: check for check in checks(t, connection, seconds=0)})
        return len(newest) == 2

    t.until(both, 30)
    for body, check in sorted(newest.items()):
        t.note(f"asked after for {body}, commit", producers.end_of_check(check, COMMIT), 0)
    t.note("stored", bodies(t.stored(producers.topic, 3).messages))


@remoting_case(
    "TransactionalMessageServiceImpl.needDiscard", needs=CRASHES, alone=True, settings={**TWO_CHECKS, **ON_DISK}
)
def half_messages_with_used_up_checks_are_discarded_after_a_crash(t: RemotingContext) -> None:
    """A half message that has used up its checks before a crash is discarded afterwards and never delivered."""
    producers = transacting(t)
    connection = producers.connect()
    producers.half("open")
    t.note("asked before", bodies(messages_of(checks(t, connection, 2))))
    t.crash()
    t.note("given up", bodies(producers.discarded()))
    t.note("its topic", t.pull(producers.topic, t.group()), 19)
