"""Start offsets of pops: for a new group and after an offset reset.

Source: PopMessageProcessor.getInitOffset (5.3.3).
"""

from ..config import BrokerConfig
from ..group.offset_table import OffsetTable
from ..message.names import is_retry
from ..operations.consume import INIT_MIN
from ..store.message_store import MessageStore
from .consumer_order_info import OrderInfoTable


class PopInitOffsets:
    """Start offsets, which are committed as soon as they are determined."""

    def __init__(self, config: BrokerConfig, store: MessageStore, offsets: OffsetTable, orders: OrderInfoTable) -> None:
        self._config = config
        self._store = store
        self._offsets = offsets
        self._orders = orders

    def init_offset(self, topic: str, group: str, queue_id: int, init_mode: int) -> int:
        """Determine and commit the start offset of a new group. `init_mode`: see PopMessage."""
        offset = self._first_offset(topic, queue_id, init_mode)
        self._offsets.commit(group, topic, queue_id, offset)
        return offset

    def _first_offset(self, topic: str, queue_id: int, init_mode: int) -> int:
        first = self._store.min_offset(topic, queue_id)
        if init_mode == INIT_MIN or is_retry(topic):
            return first
        last = self._store.max_offset(topic, queue_id) - 1
        if self._config.init_pop_offset_by_check_msg_in_mem and first <= 0 <= last:
            return 0
        return max(last, 0)

    def take_reset(self, topic: str, group: str, queue_id: int) -> int | None:
        """Return and remove the pending offset reset, if any: commit it and clear the ordered batch of the queue."""
        reset = self._offsets.take_reset(group, topic, queue_id)
        if reset is not None:
            self._orders.clear((topic, group, queue_id))
            self._offsets.commit(group, topic, queue_id, reset)
        return reset
