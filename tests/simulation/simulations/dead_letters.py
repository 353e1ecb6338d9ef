"""Consumers that move a message to the dead letter queue and acknowledge it, as the proxy does for its clients."""

from typing import TYPE_CHECKING

import observations as obs
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.send import SendMessageBack
from simulated_client import Client

if TYPE_CHECKING:
    from session import Session

DEAD_AT_ONCE = -1
"""The delay level that selects the dead letter queue."""


class DeadLetters:
    """Moves messages of one session's clients to the dead letter queue."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def give_up(self, client: Client, handle: obs.Handle, *, order: bool = False) -> None:
        """Send a popped message to the dead letter queue, then acknowledge it.

        The proxy reads the message's physical offset from the handle; here it is looked up.
        Source: ProducerProcessor.forwardMessageToDeadLetterQueue (5.3.3).
        """
        record = self._session.broker.store.record(handle.topic, handle.queue_id, handle.offset)
        if record is None:
            return  # it was deleted: the broker would reject it, and the proxy would not acknowledge it
        message = decode(record)
        message_id = message.body.rstrip(b".").decode()

        def on_answer(outcome: Outcome, waited: bool) -> None:
            assert isinstance(outcome, Done), outcome
            now, attempt = self._session.now_ms, message.reconsume_times
            self._session.note(obs.SentBack(now, client.group, message_id, attempt, DEAD_AT_ONCE, 0))

        place = message.physical_offset
        operation = SendMessageBack(client.group, place, DEAD_AT_ONCE, message_id, handle.topic, False, 0)
        self._session.ask(client, operation, on_answer)
        self._session.ack(client, handle, order=order)
