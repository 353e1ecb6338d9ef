"""The state of an engine at one instant, for verdicts about a few messages, such as the rows of a page."""

from ..history.history import History
from ..inspection.inspection import Inspection
from ..inspection.places import Place
from ..inspection.queues import ProgressView
from ..inspection.receipts import ReceiptView
from .scene import Scene


class RowScene(Scene):
    """Reads the receipts of each copy, and the progress of each group in a queue, once for all groups."""

    def __init__(self, inspection: Inspection, history: History, now_ms: int) -> None:
        super().__init__(inspection, history, now_ms)
        self._progress: dict[tuple[str, str, int, str], ProgressView | None] = {}
        """By broker, topic, queue id and group."""
        self._receipts: dict[Place, list[ReceiptView]] = {}

    def progress(self, broker: str, topic: str, queue_id: int, group: str) -> ProgressView | None:
        """Return the progress of a group in a queue, without its counts; None if it has none."""
        key = (broker, topic, queue_id, group)
        if key not in self._progress:
            self._progress[key] = super().progress(broker, topic, queue_id, group)
        return self._progress[key]

    def receipts(self, group: str, place: Place) -> list[ReceiptView]:
        """Return the receipts of a copy that clients of a group hold."""
        if place not in self._receipts:
            self._receipts[place] = self.inspection.receipts(place=place)
        return [each for each in self._receipts[place] if each.group == group]
