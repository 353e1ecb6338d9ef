"""The state of an engine at one instant, for verdicts about many messages."""

from ..history.history import History
from ..inspection.inspection import Inspection
from ..inspection.places import Place
from ..inspection.queues import ProgressView, QueueView
from ..inspection.receipts import ReceiptView
from .scene import Scene


class SharedScene(Scene):
    """Reads each queue, and the receipts of each group, once instead of for each message."""

    def __init__(self, inspection: Inspection, history: History, now_ms: int) -> None:
        super().__init__(inspection, history, now_ms)
        self._queues: dict[tuple[str, str, int], QueueView | None] = {}
        """By broker, topic and queue id."""
        self._receipts: dict[str, dict[Place, list[ReceiptView]]] = {}
        """By group, then by place."""

    def queue(self, broker: str, topic: str, queue_id: int) -> QueueView | None:
        """Return a queue, None if it does not exist."""
        key = (broker, topic, queue_id)
        if key not in self._queues:
            self._queues[key] = super().queue(broker, topic, queue_id)
        return self._queues[key]

    def progress(self, broker: str, topic: str, queue_id: int, group: str) -> ProgressView | None:
        """Return the progress of a group in a queue; None if it has none."""
        queue = self.queue(broker, topic, queue_id)
        return None if queue is None else queue.groups.get(group)

    def receipts(self, group: str, place: Place) -> list[ReceiptView]:
        """Return the receipts of a copy that clients of a group hold."""
        if group not in self._receipts:
            by_place: dict[Place, list[ReceiptView]] = {}
            for each in self.inspection.receipts(group):
                by_place.setdefault(each.place, []).append(each)
            self._receipts[group] = by_place
        return self._receipts[group].get(place, [])
