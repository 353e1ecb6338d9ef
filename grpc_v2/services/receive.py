"""ReceiveMessage: respond with a status, the messages and a delivery timestamp, possibly after a long poll.

Source: ReceiveMessageActivity, ReceiveMessageResponseStreamWriter, ConsumerProcessor, PopMessageResultFilterImpl
(5.3.3).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.client.deliveries import Deliveries
from rocketmq_testkit.emulator.faults.defects import Defects
from rocketmq_testkit.emulator.filter.message_filter import SQL92, TAG, build_subscription
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.operations.clients import DropInactiveRequests, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import AckMessage, Notification, PopMessage, PoppedMessage, PopResult
from rocketmq_testkit.emulator.operations.send import SendMessageBack

from ..config.pools import ProxyPool
from ..config.proxy_config import ProxyConfig
from ..convert.client_settings import DEFAULT_REQUEST_TIMEOUT_MS, max_attempts_of
from ..convert.message_encoder import fill_message
from ..convert.receipt_handle import ReceiptHandle
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proto.timestamps import duration_ms, set_timestamp
from ..proxy.auto_renewal import RenewableMessage, Renewals
from ..proxy.fire_and_forget import FireAndForget
from ..proxy.receive_polls import ReceivePolls
from ..proxy.required_rights import to_receive
from ..proxy.routes import Routes
from ..proxy.rpc_call import RpcCall
from ..proxy.rpc_table import CODES_OF_TOPIC_RPCS, Rpc
from ..proxy.sessions import Session, SessionRegistry
from ..rules.java_texts import negative_batch, no_channel, no_settings
from ..rules.proxy_rules import check_invisible_time, group_name, poll_time_ms
from ..rules.status import OK, Refusal
from ..transport import MethodKind

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker

MAX_BATCH = 32
"""The most messages of one receive; a larger batch size counts as this."""
_INIT_AT_END = 1
"""The init mode of a pop with which a new group starts at the end of a queue (ConsumeInitMode.MAX)."""
_TO_DEAD_LETTER_QUEUE = -1
"""The delay level that means no further retry."""
_ANY_QUEUE = -1
"""The queue id of a pop that reads all queues of the topic on a broker."""
_FOUND = sv.ReceiveMessageResponse(status=OK).SerializeToString()


@dataclass(slots=True)
class _ReceiveParameters:
    """The parameters of a client's receives, from its settings and its group."""

    in_order: bool
    max_attempts: int
    request_timeout_ms: int


@dataclass(slots=True)
class _Receive:
    """One receive."""

    call: RpcCall
    pop: PopMessage
    topic: str
    group: str
    subscription: SubscriptionData
    max_attempts: int
    auto_renew: bool


@dataclass(slots=True)
class _FoundMessage:
    """A message that a broker returned. `reconsume_times` counts earlier deliveries."""

    popped: PoppedMessage
    handle: ReceiptHandle
    record: records.Record
    reconsume_times: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReceiveMessageService:
    """Receives messages for consumers."""

    routes: Routes
    polls: ReceivePolls
    renewals: Renewals
    sessions: SessionRegistry
    fire_and_forget: FireAndForget
    config: ProxyConfig
    scheduler: Scheduler
    defects: Defects
    deliveries: Deliveries

    def receive_message(self, call: RpcCall, request: sv.ReceiveMessageRequest) -> None:
        """Receive messages of a topic and make them invisible for a duration, or wait for messages."""
        config, routes = self.config, self.routes
        parameters = self._parameters(call, request.group.name)
        server_call = call.server_call
        poll_ms = poll_time_ms(
            request,
            remaining_ms=server_call.deadline_ms,
            request_timeout_ms=parameters.request_timeout_ms,
            client_version=server_call.metadata.get("x-mq-client-version", ""),
            config=config,
        )
        topic = routes.topic_name(request.message_queue.topic)
        group = group_name(request.group)
        auto_renew = request.auto_renew and config.enable_proxy_auto_renew
        if auto_renew:
            invisible_ms = config.default_invisible_time_mills
        else:
            invisible_ms = duration_ms(request.invisible_duration)
            check_invisible_time(invisible_ms, config.min_invisible_time_mills_for_recv, config)
        subscription = _subscription(topic, request.filter_expression)
        if request.batch_size < 0:
            raise Refusal(pb.INTERNAL_SERVER_ERROR, negative_batch(request.batch_size))
        brokers = routes.read_brokers(topic, request.message_queue.broker.name, spread=config.receive_from_all_brokers)
        pop = PopMessage(
            consumer_group=group,
            topic=topic,
            queue_id=_ANY_QUEUE,
            max_msg_nums=min(request.batch_size, MAX_BATCH),
            invisible_ms=invisible_ms,
            poll_ms=poll_ms,
            born_ms=self.scheduler.now_ms,
            init_mode=_INIT_AT_END,
            exp_type=subscription.expression_type,
            exp=subscription.sub_string,
            order=parameters.in_order,
            attempt_id=request.attempt_id or None,
        )
        receive = _Receive(
            call,
            pop,
            topic,
            group,
            subscription,
            parameters.max_attempts,
            auto_renew,
        )
        self.polls.begin(
            call, brokers=brokers, pop=pop, deliver=lambda broker, result: self._deliver(receive, broker, result)
        )

    def _parameters(self, call: RpcCall, requested_group: str) -> _ReceiveParameters:
        """Return the parameters from the client's settings, or from the requested group if it sent none."""
        session = call.session
        settings = session.settings if session is not None else None
        if settings is None:
            # ReceiveMessageActivity.receiveMessage does not test the settings, and throws before any check.
            if self.defects.receive_needs_settings:
                raise Refusal(pb.INTERNAL_SERVER_ERROR, no_settings())
            timeout_ms = DEFAULT_REQUEST_TIMEOUT_MS
            config = self.routes.group_config(requested_group)
            in_order, max_attempts = False, 17  # those of a group with default values, which has 16 retries
        else:
            timeout_ms = duration_ms(settings.request_timeout)
            if settings.HasField("publishing"):
                return _ReceiveParameters(False, self.config.grpc_client_producer_max_attempts, timeout_ms)
            config = self.routes.group_config(settings.subscription.group.name)
            in_order, max_attempts = settings.subscription.fifo, settings.backoff_policy.max_attempts
        if config is not None:
            in_order, max_attempts = config.consume_message_orderly, max_attempts_of(config)
        return _ReceiveParameters(in_order, max_attempts, timeout_ms)

    def _deliver(self, receive: _Receive, broker: "Broker", result: PopResult) -> bool:
        """Send the messages of a broker that are for this client.

        Returns False if none is, or if the client has cancelled. In the latter case the messages stay invisible for
        their invisible duration: upstream intends to make them visible, but fails before it does.
        """
        call = receive.call
        counts = _order_counts(result.order_count_info)
        found: list[_FoundMessage] = []
        for popped in result.messages:
            times = counts.get((popped.topic_digit, popped.queue_id), popped.reconsume_times)
            each = _FoundMessage(popped, _handle(broker, result, popped), records.decode(popped.record), times)
            if self._passes_filters(receive, broker, each):
                found.append(each)
        if len(found) < len(result.messages):
            # If a rule of faults holds the response back, the deliveries learn of its messages when it is written.
            result.messages = [each.popped for each in found]
        if not found:
            return False
        try:
            session = self._renewal_session(receive)
        except Refusal:
            self._not_written(receive, broker, result)
            raise
        frames = [self._frame(receive, each, session) for each in found]
        if call.server_call.cancelled:
            self._not_written(receive, broker, result)
            return False
        send = call.server_call.send
        send(_FOUND)
        for frame in frames:
            send(frame)
        self._finish(call)
        return True

    def _not_written(self, receive: _Receive, broker: "Broker", result: PopResult) -> None:
        self.deliveries.not_written(broker.name, receive.call.channel, receive.pop, result)

    def _passes_filters(self, receive: _Receive, broker: "Broker", found: _FoundMessage) -> bool:
        """True if a message is for this client.

        If not, acknowledge a message with another tag, or move a message to the dead letter queue if it was delivered
        too often.
        """
        tags = receive.subscription.tags
        if tags and found.record.property_map().get(props.TAGS) not in tags:
            self._acknowledge(receive, broker, found.handle)
            return False
        if found.reconsume_times >= receive.max_attempts:
            self._dead_letter(receive, broker, found.handle)
            return False
        return True

    def _renewal_session(self, receive: _Receive) -> Session | None:
        """Return the session that holds messages received with auto_renew, None without auto_renew or without settings.

        Raises Refusal if the client has left meanwhile. As in upstream, the messages then stay invisible for their
        invisible duration.
        """
        call = receive.call
        if not receive.auto_renew or call.session is None:
            return None
        session = self.sessions.find(call.client_id)
        if session is None:
            raise Refusal(pb.INTERNAL_SERVER_ERROR, no_channel())
        return session

    def _frame(self, receive: _Receive, found: _FoundMessage, session: Session | None) -> bytes:
        """Encode the frame of a message, and store the message for renewal in a session, if there is one."""
        handle = found.handle
        response = sv.ReceiveMessageResponse()
        message = response.message
        fill_message(message, found.record, receive.topic, found.reconsume_times, self.scheduler.now_ms)
        system = message.system_properties
        system.receipt_handle = handle.encode()
        system.queue_id = handle.queue_id
        system.queue_offset = handle.offset
        if session is not None:
            message_id = system.message_id
            self.renewals.store(
                RenewableMessage(
                    session,
                    receive.topic,
                    receive.group,
                    message_id,
                    handle,
                    handle.pop_time,
                    found.reconsume_times,
                )
            )
        return response.SerializeToString()

    def _acknowledge(self, receive: _Receive, broker: "Broker", handle: ReceiptHandle) -> None:
        topic = handle.real_topic(receive.topic, receive.group)
        ack = AckMessage(
            consumer_group=receive.group,
            topic=topic,
            queue_id=handle.queue_id,
            extra_info=handle.encode(),
            offset=handle.offset,
        )
        self._submit(receive, broker, ack)

    def _dead_letter(self, receive: _Receive, broker: "Broker", handle: ReceiptHandle) -> None:
        topic = handle.real_topic(receive.topic, receive.group)
        send_back = SendMessageBack(
            group=receive.group,
            offset=handle.commit_log_offset,
            delay_level=_TO_DEAD_LETTER_QUEUE,
            origin_topic=topic,
            max_reconsume_times=0,
            through_proxy=True,
        )
        self._submit(receive, broker, send_back)
        self._acknowledge(receive, broker, handle)

    def _submit(self, receive: _Receive, broker: "Broker", operation: AckMessage | SendMessageBack) -> None:
        call = receive.call
        self.fire_and_forget.submit(broker, call.channel, call.rpc.name, operation)

    def _finish(self, call: RpcCall) -> None:
        """Send the last frame, which also follows an error, and end the stream."""
        last = sv.ReceiveMessageResponse()
        set_timestamp(last.delivery_timestamp, self.scheduler.now_ms)
        call.server_call.send(last.SerializeToString())
        call.server_call.finish()

    def send_refusal(self, call: RpcCall, refusal: Refusal) -> None:
        """Send a Status and, unless it is CLIENT_ID_REQUIRED, the last frame."""
        call.server_call.send(sv.ReceiveMessageResponse(status=refusal.status()).SerializeToString())
        if refusal.code == pb.CLIENT_ID_REQUIRED:
            call.server_call.finish()
        else:
            self._finish(call)


def _subscription(topic: str, wanted: pb.FilterExpression) -> SubscriptionData:
    try:
        return build_subscription(topic, wanted.expression, SQL92 if wanted.type == pb.SQL else TAG)
    except ValueError as error:
        raise Refusal(pb.ILLEGAL_FILTER_EXPRESSION, str(error)) from None


def _handle(broker: "Broker", result: PopResult, popped: PoppedMessage) -> ReceiptHandle:
    return ReceiptHandle(
        popped.start_offset,
        result.pop_time,
        result.invisible_ms,
        result.revive_qid,
        str(popped.topic_digit),
        broker.name,
        popped.queue_id,
        popped.queue_offset,
        popped.physical_offset,
    )


def _order_counts(info: str | None) -> dict[tuple[int, int], int]:
    """Parse order counts: (topic digit, queue id) -> earlier deliveries, one count for all messages of a queue.

    Upstream's LOCAL proxy uses the count of the queue, `<digit> <queue> <count>`, and ignores the counts of single
    messages (`<digit> qo<queue>%<offset> <count>`).
    """
    found = {}
    for entry in info.split(";") if info else ():
        digit, place, count = entry.split(" ")
        if not place.startswith("qo"):
            found[int(digit), int(place)] = int(count)
    return found


RECEIVE_MESSAGE = Rpc(
    "ReceiveMessage",
    sv.ReceiveMessageRequest,
    sv.ReceiveMessageResponse,
    ReceiveMessageService.receive_message,
    operations=(PopMessage, Notification, DropInactiveRequests, AckMessage, SendMessageBack),
    codes=(
        *CODES_OF_TOPIC_RPCS,
        pb.ILLEGAL_POLLING_TIME,
        pb.BAD_REQUEST,
        pb.ILLEGAL_CONSUMER_GROUP,
        pb.ILLEGAL_INVISIBLE_TIME,
        pb.ILLEGAL_FILTER_EXPRESSION,
        pb.MESSAGE_NOT_FOUND,
        pb.TOO_MANY_REQUESTS,
        pb.FORBIDDEN,
        pb.INTERNAL_SERVER_ERROR,
    ),
    kind=MethodKind.SERVER_STREAM,
    send_refusal=ReceiveMessageService.send_refusal,
    rights=to_receive,
    pool=ProxyPool.CONSUMER,
)
