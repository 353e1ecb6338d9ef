"""From which broker of a name a consumer shall pull next, and what a slave answers that is pulled from.

Source: PullMessageProcessor.composeResponseHeader, DefaultPullMessageResultHandler, DefaultMessageStore.getMessage and
nextOffsetCorrection (5.3.3).
"""

from ..config import BrokerConfig
from ..kernel.response_code import ResponseCode
from ..operations import GroupConfig, PullMessage, PullStatus
from .queue_reader import QueueReader, Read

MEMORY_BYTES = 8 * 1024**3
"""What counts as the memory of the machine, for `accessMessageInMemoryMaxRatio`; upstream asks the machine."""
_MASTER_ID = 0
_LOOKED = (PullStatus.FOUND, PullStatus.NO_MATCHED_MESSAGE)


class Suggestions:
    """The rules of one broker."""

    def __init__(self, config: BrokerConfig, reader: QueueReader) -> None:
        self._config = config
        self._reader = reader

    def is_far_behind(self, operation: PullMessage, read: Read) -> bool:
        """Whether so much was stored behind the last message looked at that a slave had better read it."""
        config = self._config
        if read.status not in _LOOKED or not config.slave_read_enable:
            return False
        behind = self._reader.left_behind(operation.topic, operation.queue_id, read.next_offset - 1)
        return behind > MEMORY_BYTES * config.access_message_in_memory_max_ratio // 100

    def broker_id(self, group: GroupConfig, behind: bool) -> int:
        """The suggested broker id, 0 for the master; the group says which for either case."""
        if not self._config.slave_read_enable:
            return _MASTER_ID
        return group.which_broker_when_consume_slowly if behind else group.broker_id

    def code(self, code: ResponseCode) -> ResponseCode:
        """A slave does not send a consumer to another offset: it lets it try again at once."""
        if code is ResponseCode.PULL_OFFSET_MOVED and not self._corrects:
            return ResponseCode.PULL_RETRY_IMMEDIATELY
        return code

    def next_offset(self, operation: PullMessage, read: Read) -> int:
        """Where to go on: a slave, which may not have everything yet, does not correct what is out of range."""
        return read.next_offset if self._corrects or read.status in _LOOKED else operation.queue_offset

    @property
    def _corrects(self) -> bool:
        return self._config.broker_role != "SLAVE" or self._config.offset_check_in_slave
