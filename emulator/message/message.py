"""A message on its way into the store."""

from ..kernel.value_class import value
from . import properties as props


@value
class Message:
    """What is needed to append a record; `born_host` is packed (see record.pack_host).

    Hooks of the store may send it elsewhere by changing `topic`, `queue_id`, `properties` and `deliver_ms`.
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
    """What the consume queue keeps; None is the hash of the tag."""

    def redirect(self, topic: str, queue_id: int) -> None:
        """Send it to another topic and remember where it belongs."""
        self.properties[props.REAL_TOPIC] = self.topic
        self.properties[props.REAL_QUEUE_ID] = str(self.queue_id)
        self.topic = topic
        self.queue_id = queue_id


@value
class Stored:
    """Where a message was stored."""

    queue_id: int
    queue_offset: int
    physical_offset: int
    size: int
    store_timestamp: int
