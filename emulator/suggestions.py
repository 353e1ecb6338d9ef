"""From which broker of a name a consumer shall pull next, and what a slave answers that is pulled from.

Source: PullMessageProcessor.composeResponseHeader, DefaultMessageStore.getMessage and nextOffsetCorrection (5.3.3).
"""

from .codes import ResponseCode
from .config import BrokerConfig
from .operations import GroupConfig, PullMessage, PullStatus
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
        if read.status not in _LOOKED or not (config.slave_read_enable or config.broker_id != _MASTER_ID):
            return False
        behind = self._reader.left_behind(operation.topic, operation.queue_id, read.next_offset - 1)
        return behind > MEMORY_BYTES * config.access_message_in_memory_max_ratio // 100

    def broker_id(self, group: GroupConfig, behind: bool) -> int:
        """The suggested broker id, 0 for the master; the group says which for either case."""
        config = self._config
        if not config.slave_read_enable or (config.broker_id != _MASTER_ID and not behind):
            return _MASTER_ID
        return group.which_broker_when_consume_slowly if behind else group.broker_id

    def code(self, code: ResponseCode, read: Read, behind: bool) -> ResponseCode:
        """A slave that has found nothing says to try again at once, at the master as it thinks, even if there is none.

        It is told of masters that come and go only in modes that are not emulated (acting masters, controller).
        """
        if self._config.broker_id == _MASTER_ID or behind or read.status is PullStatus.FOUND:
            return code
        return ResponseCode.PULL_RETRY_IMMEDIATELY

    def next_offset(self, operation: PullMessage, read: Read) -> int:
        """Where to go on: a slave, which may not have everything yet, does not correct what is out of range."""
        config = self._config
        if config.broker_role != "SLAVE" or config.offset_check_in_slave or read.status in _LOOKED:
            return read.next_offset
        return operation.queue_offset
