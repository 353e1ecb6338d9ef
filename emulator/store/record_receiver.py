"""The interface of a slave for the message store of its master."""

from typing import Protocol


class RecordReceiver(Protocol):
    """A slave's end of a replication."""

    @property
    def has_all_records(self) -> bool:
        """True if the slave has all records that were sent to it."""

    def replicate(self, record: bytes, tags_code: int) -> None:
        """Send a record to the slave."""
