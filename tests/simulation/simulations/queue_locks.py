"""Clients that lock queues and release them."""

from typing import TYPE_CHECKING

import observations as obs
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.operations.clients import LockBatchMq, LockBatchResult, MessageQueue, UnlockBatchMq
from simulated_client import Client

if TYPE_CHECKING:
    from session import Session


class QueueLocks:
    """The locks of one session's clients."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def lock(self, client: Client, queues: list[obs.Place]) -> None:
        """Request queue locks."""

        def on_answer(outcome: Outcome, waited: bool) -> None:
            assert isinstance(outcome, LockBatchResult), outcome
            granted = tuple((queue.topic, queue.queue_id) for queue in outcome.queues)
            self._session.note(obs.Locked(self._session.now_ms, client.group, client.name, tuple(queues), granted))

        wanted = [MessageQueue(topic, self._session.broker.name, queue_id) for topic, queue_id in queues]
        self._session.ask(client, LockBatchMq(client.group, client.name, wanted), on_answer)

    def unlock(self, client: Client, queues: list[obs.Place]) -> None:
        """Release queue locks."""

        def on_answer(outcome: Outcome, waited: bool) -> None:
            self._session.note(obs.Unlocked(self._session.now_ms, client.group, client.name, tuple(queues)))

        wanted = [MessageQueue(topic, self._session.broker.name, queue_id) for topic, queue_id in queues]
        self._session.ask(client, UnlockBatchMq(client.group, client.name, wanted), on_answer)
