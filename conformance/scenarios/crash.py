"""Crashes of a broker and its proxy while consumers hold unacknowledged messages."""

from ..deployment.target import Capability
from ..drivers.process import DriverError, Fields
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import AWAIT_MS, Consumer, shown, text
from .broker_restart import note_clients_go_on

OFTEN = {"flushConsumerOffsetInterval": "500"}
"""Interval (ms) at which the broker writes consumer offsets to a file; the first write is 10 s after its start."""
FIRST_WRITE_MS = 11_000
WRITTEN_SECONDS = 5
"""Ten times the write interval, for busy machines."""
SHORT_MS = 10_000
"""The shortest invisible duration that a proxy accepts."""
LONG_MS = 120_000
"""Longer than a broker is down, even on a busy machine."""
SECONDS = 120.0
"""Timeout for the response to a receive, and for a redelivery after the crash."""


def _until_offsets_are_written(s: ScenarioContext) -> None:
    """Wait until the broker writes offsets periodically."""
    booted_ms = int(s.admin.runtime_info()["bootTimestamp"])
    s.admin.wait(max(0, booted_ms + FIRST_WRITE_MS - s.deployment.now_ms()) / 1000)


def _held(s: ScenarioContext, consumer: Consumer, count: int, invisible_ms: int) -> list[Fields]:
    """Receive `count` messages without acknowledging them."""
    messages: list[Fields] = []
    while len(messages) < count:
        messages += s.finish(consumer.post_receive(invisible_ms), seconds=SECONDS)["messages"]
    return messages


def _acknowledge(s: ScenarioContext, consumer: Consumer, messages: list[Fields], seconds: float) -> None:
    """Acknowledge messages as soon as a proxy accepts it, within `seconds`."""
    problems: list[DriverError] = []

    def accepted() -> bool:
        try:
            consumer.ack(messages)
        except DriverError as error:
            problems.append(error)
            return False
        return True

    s.require(s.becomes_true(accepted, seconds=seconds), f"not acknowledged within {seconds:.0f} s: {problems[-1:]}")


@scenario("BrokerStartup.main", verbs={"send"}, protocol="remoting", capabilities={Capability.CRASH}, alone=True)
def clients_go_on_after_a_crash(s: ScenarioContext) -> None:
    """A remoting producer and consumer survive a broker crash, and no message is lost."""
    note_clients_go_on(s, s.admin.crash)


@scenario(
    "PopReviveService.mergeAndRevive",
    verbs={"simple", "receive", "ack"},
    capabilities={Capability.CRASH},
    settings=OFTEN,
    alone=True,
)
def only_unacknowledged_messages_are_redelivered_after_a_crash(s: ScenarioContext) -> None:
    """After a crash acknowledged messages stay acknowledged, and unacknowledged ones are redelivered.

    A receipt handle from before the crash remains valid.
    """
    topic, group = s.pair("simple")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    _until_offsets_are_written(s)
    watch = s.stopwatch()
    producer.send(topic, "late")
    late = _held(s, consumer, 1, LONG_MS)
    for content in ("done", "left"):
        producer.send(topic, content)
    held = _held(s, consumer, 2, SHORT_MS)
    consumer.ack([message for message in held if text(message) == "done"])
    s.admin.wait(WRITTEN_SECONDS)
    s.admin.crash()
    _acknowledge(s, consumer, late, max(1.0, LONG_MS / 1000 - watch.seconds))
    # Not every SDK sends its subscription again to a proxy that has lost it; a new consumer does. Its poll outlasts the
    # redelivery, because messages that a proxy returns to an expired poll are lost for a while.
    other = s.consumer(group, topic, process=1, await_ms=4 * AWAIT_MS)
    s.wait_for(1, other, prefix="left", seconds=SECONDS, jump_s=s.poll_step)
    s.wait_until_idle(other)
    s.note("came again", [shown(message, "attempt") for message in other.messages])
