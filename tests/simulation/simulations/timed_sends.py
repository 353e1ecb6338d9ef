"""Producers of timed messages: send them with each of the three properties, and recall them in both ways."""

from typing import TYPE_CHECKING, NamedTuple

import observations as obs
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.send import RecallMessage, SendMessage, SendResult
from simulated_client import Client

if TYPE_CHECKING:
    from session import Session

WAYS = ("TIMER_DELIVER_MS", "TIMER_DELAY_MS", "TIMER_DELAY_SEC")
REMEMBERED = 30
"""The most timed messages that the producers remember; no producer recalls the older ones."""


class WaitingMessage(NamedTuple):
    """A timed message that may be recalled."""

    topic: str
    message_id: str
    due_ms: int
    handle: str


class TimedSends:
    """The timed messages of one session's clients; any client may recall any of them."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.waiting: list[WaitingMessage] = []

    def send(
        self, client: Client, topic: str, queue_id: int, message_id: str, *, tag: str | None, way: str, delay_ms: int
    ) -> None:
        """Send a message with a delay of `delay_ms`, by the property `way`; TIMER_DELAY_SEC has whole seconds."""
        now = self._session.now_ms
        if way == "TIMER_DELAY_SEC":
            delay_ms = delay_ms // 1000 * 1000
        due = now + delay_ms
        text = {"TIMER_DELIVER_MS": due, "TIMER_DELAY_MS": delay_ms, "TIMER_DELAY_SEC": delay_ms // 1000}[way]
        properties = {"UNIQ_KEY": message_id, "KEYS": f"timed {message_id}", "color": way, way: str(text)}
        if tag is not None:
            properties["TAGS"] = tag

        def on_answer(outcome: Outcome, waited: bool) -> None:
            if isinstance(outcome, EngineError):
                self._session.note(obs.TimedSent(now, topic, queue_id, -1, message_id, due, outcome.code.name))
                return
            assert isinstance(outcome, SendResult), outcome
            assert (outcome.recall_handle is not None) == (due > now), outcome
            if outcome.recall_handle is not None:
                waits = WaitingMessage(topic, message_id, due, outcome.recall_handle)
                self.waiting = [*self.waiting[1 - REMEMBERED :], waits]
            self._session.note(
                obs.TimedSent(
                    now,
                    topic,
                    outcome.queue_id,
                    outcome.queue_offset,
                    message_id,
                    due,
                    "SUCCESS",
                    outcome.physical_offset,
                )
            )

        self._session.ask(
            client,
            SendMessage("producers", topic, queue_id, message_id.encode(), properties, ("10.0.0.1", 5000), now),
            on_answer,
        )

    def recall(self, client: Client, waits: WaitingMessage, topic: str) -> None:
        """Recall a message by its handle, naming `topic`, which may be another topic."""
        self._take_back(
            client,
            waits,
            topic,
            waits.due_ms,
            operation=RecallMessage(topic, waits.handle, "producers"),
            by_handle=True,
        )

    def mark(self, client: Client, waits: WaitingMessage, topic: str, due_ms: int, *, message_id: str) -> None:
        """Send a delete mark that names the message in `topic` and is due at `due_ms`."""
        now = self._session.now_ms
        properties = {
            "UNIQ_KEY": message_id,
            "TIMER_DEL_UNIQKEY": f"{topic}+{waits.message_id}",
            "TIMER_DELIVER_MS": str(due_ms),
        }
        operation = SendMessage("producers", topic, 0, message_id.encode(), properties, ("10.0.0.1", 5000), now)
        self._take_back(client, waits, topic, due_ms, operation=operation, by_handle=False)

    def _take_back(
        self, client: Client, waits: WaitingMessage, topic: str, due_ms: int, *, operation: Operation, by_handle: bool
    ) -> None:
        def on_answer(outcome: Outcome, waited: bool) -> None:
            code = outcome.code.name if isinstance(outcome, EngineError) else "SUCCESS"
            self._session.note(
                obs.Recalled(self._session.now_ms, topic, waits.topic, waits.message_id, due_ms, by_handle, code)
            )

        self._session.ask(client, operation, on_answer)
