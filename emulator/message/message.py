"""A message on its way into the store."""

from ..kernel.value_class import value
from . import properties as props


@value
class MessageToStore:
    """A message to append to the store; `born_host` is packed (see stored_record.pack_host).

    Hooks of the store may redirect it by changing `topic`, `queue_id`, `properties` and `tags_code`.
    """

    topic: str
    queue_id: int
    body: bytes
    properties: dict[str, str]
    born_timestamp: int
    born_host: bytes
    sys_flag: int = 0
    flag: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    tags_code: int | None = None
    """The tags code of the consume queue entry. None means the hash of the tag."""

    def redirect(self, topic: str, queue_id: int) -> None:
        """Change its topic and queue and keep the original ones in the properties REAL_TOPIC and REAL_QID."""
        self.properties[props.REAL_TOPIC] = self.topic
        self.properties[props.REAL_QUEUE_ID] = str(self.queue_id)
        self.topic = topic
        self.queue_id = queue_id


@value
class StoredPosition:
    """The position of a stored message. `size` is that of its record in bytes; `store_timestamp` is in ms."""

    queue_id: int
    queue_offset: int
    physical_offset: int
    size: int
    store_timestamp: int
