"""Request-reply: pushes a reply to the client that sent the request, and stores it like a message.

The broker responds to a reply once the client has responded to the push, after at most ten seconds. It stores the
reply in either case.
Source: ReplyMessageProcessor, Broker2Client.callClient (5.3.3).
"""

from collections.abc import Callable
from functools import partial

from ..assembly.broker_context import Complete
from ..assembly.handlers import handles
from ..client.client_registry import ClientRegistry
from ..client.server_requests import ServerRequests
from ..config import BrokerConfig
from ..gate.call import Call
from ..gate.effects import PushReplyMessage
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.timer_kind import TimerKind
from ..message import properties as props
from ..message import stored_record as records
from ..message.message import MessageToStore
from ..operations.base import PARKED, Parked
from ..operations.send import ClientResponded, SendMessage, SendReplyMessage, SendResult
from ..store.message_store import MessageStore

PUSH_TIMEOUT_MS = 10_000
"""Timeout of a push to a client (Broker2Client.callClient)."""

ChooseQueue = Callable[[Call, SendMessage], int]


class ReplyService:
    """Handles the replies that clients send to one broker. `choose_queue` checks topic and queue as a send does."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        scheduler: Scheduler,
        store: MessageStore,
        clients: ClientRegistry,
        server_requests: ServerRequests,
        choose_queue: ChooseQueue,
        complete: Complete,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._store = store
        self._clients = clients
        self._server_requests = server_requests
        self._choose_queue = choose_queue
        self._complete = complete

    @handles(SendReplyMessage)
    def send(self, call: Call, operation: SendReplyMessage) -> SendResult | Parked:
        """Push a reply and store it.

        Errors: those of a send for topic and queue. If the push fails, the response has the code SYSTEM_ERROR.
        """
        sent = operation.message
        message = self._message(sent, self._choose_queue(call, sent))
        client = message.properties.get(props.REPLY_TO_CLIENT)
        if client is None:
            return self._store_and_respond(message, "reply message properties[REPLY_TO_CLIENT] is null")
        channel = self._clients.producer_channel(client)
        if channel is None:
            return self._store_and_respond(message, f"push reply message fail, channel of <{client}> not found.")

        def on_push_response(response: ClientResponded | None) -> None:
            arrived = response is not None and response.code == ResponseCode.SUCCESS
            problem = None if arrived else f"push reply message to {client}fail."
            self._complete(call, operation, self._store_and_respond(message, problem))

        push = partial(self._push, sent, message)
        self._server_requests.send(
            channel, push, TimerKind.REPLY_PUSH, client, timeout_ms=PUSH_TIMEOUT_MS, on_response=on_push_response
        )
        return PARKED

    def _message(self, sent: SendMessage, queue_id: int) -> MessageToStore:
        """Return the message to store.

        It has no system flag, because upstream sets none: a compressed body is stored without its mark.
        """
        properties = sent.properties
        properties[props.MSG_REGION] = self._config.region_id
        properties[props.TRACE_ON] = "true" if self._config.trace_on else "false"
        return MessageToStore(
            sent.topic,
            queue_id,
            sent.take_body(),
            properties,
            sent.born_timestamp,
            records.pack_host(sent.born_host),
            flag=sent.flag,
            reconsume_times=sent.reconsume_times,
        )

    def _push(self, sent: SendMessage, message: MessageToStore, ticket: int) -> PushReplyMessage:
        now = self._scheduler.now_ms
        return PushReplyMessage(
            sent.producer_group,
            message.topic,
            sent.queue_id,
            message.body,
            properties=props.encode({**message.properties, props.PUSH_REPLY_TIME: str(now)}),
            sys_flag=sent.sys_flag,
            flag=message.flag,
            born_timestamp=message.born_timestamp,
            born_host=sent.born_host,
            store_host=records.unpack_host(self._store.store_host),
            store_timestamp=now,
            reconsume_times=sent.reconsume_times,
            unit_mode=sent.unit_mode,
            default_topic=sent.default_topic,
            default_topic_queue_nums=sent.default_topic_queue_nums,
            ticket=ticket,
        )

    def _store_and_respond(self, message: MessageToStore, problem: str | None) -> SendResult:
        """Store a reply, if the broker is configured so, and return the response. `problem`: why the push failed."""
        code = ResponseCode.SUCCESS if problem is None else ResponseCode.SYSTEM_ERROR
        not_stored = SendResult(code, "0" if problem is None else "", message.queue_id, 0, None, 0, remark=problem)
        if not self._config.store_reply_message_enable:
            return not_stored
        try:
            stored = self._store.put(message)
        except EngineError:  # upstream only logs this
            return not_stored
        id_ = records.offset_message_id(self._store.store_host, stored.physical_offset)
        return SendResult(
            code, id_, message.queue_id, stored.queue_offset, None, stored.physical_offset, remark=problem
        )
