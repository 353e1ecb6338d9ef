"""The refused requests of clients, for the history. The gate reports each refusal, and no other outcome."""

from collections.abc import Mapping

from ..faults.message_facts import messages_of
from ..faults.subject_names import groups_of, topics_of
from ..gate.raw_request import RawRequest, Rejection
from ..history.events import RefusedRequest
from ..history.short_text import short_text
from ..kernel.errors import EngineError
from ..message import batch
from ..message import properties as props
from ..operations.base import Operation
from ..operations.send import SendMessage
from .delivery_context import DeliveryContext

_TOPIC_FIELDS = ("topic", "topic.name", "messages[0].topic.name", "message_queue.topic.name", "b")
_GROUP_FIELDS = ("consumerGroup", "producerGroup", "group", "group.name", "a")
_ID_FIELDS = ("messages[0].system_properties.message_id", "entries[0].message_id", "message_id")
_KEY_FIELDS = ("messages[0].system_properties.keys[0]",)
"""Fields of requests that a protocol layer refused. `a` and `b` are the short names of group and topic in sends."""


class RefusedRequests:
    """Notes refused requests in the history."""

    def __init__(self, context: DeliveryContext) -> None:
        self._context = context

    def refused(self, node: str, channel: str, label: str, request: object, outcome: object) -> None:  # noqa: PLR0917 - the gate's signature
        """Note a refused operation, or a request that a protocol layer refused."""
        if isinstance(request, RawRequest):
            named = _named_by_fields(request.fields)
            operation = label
        elif isinstance(request, Operation):
            named = self._named(node, request)
            operation = type(request).__name__
        else:
            return
        history = self._context.history
        code, remark = _code(outcome)
        topic, group, message_id, keys = map(short_text, named)
        refused = RefusedRequest(
            self._context.scheduler.now_ms,
            node,
            channel,
            short_text(label),
            operation=operation,
            topic=topic,
            group=group,
            message_id=message_id,
            keys=keys,
            code=short_text(code),
            remark=short_text(remark),
        )
        history.note_refused(refused)
        self._context.watch.refused(refused)

    def _named(self, node: str, request: Operation) -> tuple[str, str, str, str]:
        """Return the topic, group, message id and keys of an operation; of several messages the first."""
        named = self._properties(node, request)
        topic, group = next(iter(topics_of(request)), ""), next(iter(groups_of(request)), "")
        return topic, group, named.get(props.UNIQ_KEY, ""), named.get(props.KEYS, "")

    def _properties(self, node: str, request: Operation) -> Mapping[str, str]:
        """Return the properties of the first message of a request, none if it has no message."""
        if isinstance(request, SendMessage):
            return _first_of_batch(request.body) if request.batch else request.properties
        tables = self._context.tables(node)
        messages = messages_of(request, None, None if tables is None else tables.store)
        return messages[0].properties if messages else {}


def _first_of_batch(body: bytes) -> Mapping[str, str]:
    """Return the properties of the first message of a batch. A client may send very many, or none."""
    size = int.from_bytes(body[:4], "big")
    try:
        return next((batch.properties_of(text) for _flag, _body, text in batch.split_batch(body[:size])), {})
    except EngineError:  # the batch is malformed
        return {}


def _named_by_fields(fields: Mapping[str, str]) -> tuple[str, str, str, str]:
    """Return the topic, group, message id and keys in the fields of a request; empty texts for missing ones."""
    topic, group, message_id, keys = (
        next((fields[name] for name in names if name in fields), "")
        for names in (_TOPIC_FIELDS, _GROUP_FIELDS, _ID_FIELDS, _KEY_FIELDS)
    )
    of_send = props.decode(fields.get("i", fields.get("properties", "")))
    return topic, group, message_id or of_send.get(props.UNIQ_KEY, ""), keys or of_send.get(props.KEYS, "")


def _code(outcome: object) -> tuple[str, str | None]:
    """Return the name of the response code, and the remark."""
    if isinstance(outcome, EngineError):
        return outcome.code.name, outcome.remark
    if isinstance(outcome, Rejection):
        return outcome.name, outcome.remark
    return "", None
