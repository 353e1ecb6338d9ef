"""Wakes waiting pops and notifications when messages become visible or a blocked queue is free again.

Source: PopLongPollingService.notifyMessageArriving and its callers (5.3.3).
"""

from ..config import EmulationConfig
from ..message import names
from ..operations.consume import Notification, PopMessage
from .pop_long_polling import PopLongPolling


class WakeUps:
    """The wake-ups of one run of a broker."""

    def __init__(
        self, emulation: EmulationConfig, pops: PopLongPolling[PopMessage], notifications: PopLongPolling[Notification]
    ) -> None:
        self._emulation = emulation
        self._pops = pops
        self._notifications = notifications

    def order_unblocked(self, topic: str, group: str, queue_id: int) -> None:
        """Wake requests for a queue whose ordered batch no longer blocks it."""
        self._pops.wake(topic, group, queue_id)
        self._notifications.wake(topic, group, queue_id)

    def wake_next(self, topic: str, group: str, queue_id: int) -> None:
        """Wake the next pop of a queue that still has messages, or the notification that precedes a pop."""
        self._pops.wake(topic, group, queue_id)
        self._notifications.wake(topic, group, queue_id, lambda waiting: waiting.for_pop)

    def queue_below_threshold(self, topic: str, group: str, queue_id: int) -> None:
        """Wake the next pop of a queue that no longer has too many messages in flight."""
        if names.is_retry(topic):
            topic, queue_id = names.topic_of_pop_retry(topic, group), -1
        self.wake_next(topic, group, queue_id)

    def redelivered(self, topic: str, group: str) -> None:
        """Wake requests after a redelivery, if `wakePollOnRedelivery` is set."""
        if self._emulation.wake_poll_on_redelivery:
            self.wake_for_redelivered(topic, group)

    def wake_for_redelivered(self, topic: str, group: str) -> None:
        """Wake requests for the redelivered messages of a group."""
        if names.is_retry(topic):
            topic = names.topic_of_pop_retry(topic, group)
        self._pops.wake(topic, group, -1)
        self._notifications.wake(topic, group, -1)
