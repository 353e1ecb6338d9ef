"""The slaves that get the records of a master.

It must not know how the records reach them.
"""

from collections.abc import Sequence

from .record_receiver import RecordReceiver


class Replication:
    """The connected slaves of a master, to which its store sends every record that it appends."""

    def __init__(self) -> None:
        self.receivers: list[RecordReceiver] = []
        """The store reads this list before each record. It stays the same object."""

    def begin(self, receiver: RecordReceiver) -> None:
        """Send every record to a slave from now on."""
        self.receivers.append(receiver)

    def end(self, receiver: RecordReceiver) -> None:
        """End the effect of `begin`."""
        self.receivers.remove(receiver)

    @property
    def in_sync(self) -> int:
        """The number of connected slaves that have all records."""
        return sum(receiver.has_all_records for receiver in self.receivers)

    def replicate(self, record: bytes, tags_code: int) -> None:
        """Send a record with its tags code to all slaves."""
        for receiver in self.receivers:
            receiver.replicate(record, tags_code)

    def replicate_block(
        self, block: bytes, physical_offsets: Sequence[int], sizes: Sequence[int], tags_codes: Sequence[int]
    ) -> None:
        """Send the records of a block to all slaves. The first record is at the beginning of the block."""
        for receiver in self.receivers:
            for offset, size, tags_code in zip(physical_offsets, sizes, tags_codes, strict=True):
                at = offset - physical_offsets[0]
                receiver.replicate(block[at : at + size], tags_code)
