"""Suggests the broker (master or slave) for a consumer's next pull, and adjusts the pull responses of a slave.

Source: PullMessageProcessor.composeResponseHeader, DefaultPullMessageResultHandler, DefaultMessageStore.getMessage and
nextOffsetCorrection (5.3.3).
"""

from ..config import MASTER_ID, BrokerConfig
from ..kernel.response_code import ResponseCode
from ..operations.consume import PullMessage, PullStatus
from ..operations.groups import GroupConfig
from .queue_reader import QueueReader, Read

MEMORY_BYTES = 8 * 1024**3
"""Assumed memory of the machine for `accessMessageInMemoryMaxRatio` (8 GiB); upstream queries the machine."""
_EXAMINED = (PullStatus.FOUND, PullStatus.NO_MATCHED_MESSAGE)


class BrokerSuggestions:
    """The rules of one broker."""

    def __init__(self, config: BrokerConfig, reader: QueueReader) -> None:
        self._config = config
        self._reader = reader

    def is_far_behind(self, operation: PullMessage, read: Read) -> bool:
        """Return True if enough bytes follow the last message examined that a slave should serve the reads."""
        config = self._config
        if read.status not in _EXAMINED or not config.slave_read_enable:
            return False
        behind = self._reader.lag_bytes(operation.topic, operation.queue_id, read.next_offset - 1)
        return behind > MEMORY_BYTES * config.access_message_in_memory_max_ratio // 100

    def broker_id(self, group: GroupConfig, behind: bool) -> int:
        """Return the suggested broker id (0: master): the group has one for readers far behind, and one for others."""
        if not self._config.slave_read_enable:
            return MASTER_ID
        return group.which_broker_when_consume_slowly if behind else group.broker_id

    def code(self, code: ResponseCode) -> ResponseCode:
        """Return the response code; a slave replaces PULL_OFFSET_MOVED by PULL_RETRY_IMMEDIATELY."""
        if code is ResponseCode.PULL_OFFSET_MOVED and not self._corrects:
            return ResponseCode.PULL_RETRY_IMMEDIATELY
        return code

    def next_offset(self, operation: PullMessage, read: Read) -> int:
        """Return the next offset; a slave, which may lag behind, does not correct an offset out of range."""
        return read.next_offset if self._corrects or read.status in _EXAMINED else operation.queue_offset

    @property
    def _corrects(self) -> bool:
        return self._config.broker_role != "SLAVE" or self._config.offset_check_in_slave
