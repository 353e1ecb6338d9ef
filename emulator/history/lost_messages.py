"""The messages that a crash removes from a broker's log."""

from collections.abc import Iterable, Iterator

from ..message import properties as props
from ..message import stored_record
from ..message.names import REVIVE_TOPIC_PREFIX
from .events import LostMessage
from .short_text import short_text


def lost_messages(at_ms: int, broker: str, records: Iterable[bytes]) -> Iterator[LostMessage]:
    """Yield the messages of records, except check points and acknowledgements of pops, which clients do not send."""
    for each in records:
        if not stored_record.is_readable(each):
            continue
        record = stored_record.decode(each)
        if record.topic.startswith(REVIVE_TOPIC_PREFIX):
            continue
        named = record.property_map()
        message_id, keys = short_text(named.get(props.UNIQ_KEY)), short_text(named.get(props.KEYS))
        yield LostMessage(
            at_ms,
            broker,
            record.topic,
            record.queue_id,
            queue_offset=record.queue_offset,
            message_id=message_id,
            keys=keys,
            stored_at_ms=record.store_timestamp,
            born_host=record.born_host,
        )
