"""A protocol client that submits operations to the engine, without a protocol."""

from protocol_client import BrokerProtocolClient
from protocol_values import Answer, NewMessage, PopRequest, Route, Sent, Taken, TransactionCheck, attempt_in_order
from pull_operation import pull_of
from rocketmq_testkit.conformance.clients.receipt_handles import changed_handle, place_of, popped_receipt
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import SYS_TRANSACTION_PREPARED, decode
from rocketmq_testkit.emulator.operations.base import Done, NoResponse, Operation
from rocketmq_testkit.emulator.operations.clients import (
    ConsumerData,
    Heartbeat,
    LockBatchMq,
    LockBatchResult,
    MessageQueue,
    SubscriptionData,
    UnlockBatchMq,
    UnregisterClient,
)
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo, RouteResult
from rocketmq_testkit.emulator.operations.consume import (
    AckMessage,
    BatchAck,
    BatchAckMessage,
    ChangeInvisibleResult,
    ChangeInvisibleTime,
    Notification,
    NotificationResult,
    PeekMessage,
    PollingInfo,
    PollingInfoResult,
    PopMessage,
    PopResult,
    PullResult,
    bit_set,
)
from rocketmq_testkit.emulator.operations.groups import (
    AssignmentResult,
    ConsumeStatsResult,
    GetConsumeStats,
    QueryAssignment,
    SetMessageRequestMode,
)
from rocketmq_testkit.emulator.operations.send import (
    EndTransaction,
    RecallMessage,
    RecallResult,
    SendMessage,
    SendMessageBack,
    SendResult,
)
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.wire.command import VERSION_5_3_3
from virtual_brokers import START_MS, Setup

BORN_HOST = ("10.0.0.9", 5000)


class EngineProtocolClient(BrokerProtocolClient):
    """Submits the operations that remoting requests create."""

    name = "engine"

    def __init__(self, setup: Setup) -> None:
        super().__init__(Engine(brokers=setup.brokers, emulation=setup.emulation, seed=setup.seed, now_ms=START_MS))
        self._channels: dict[tuple[str, int, str], DirectChannel] = {}

    def _ask(self, operation: Operation) -> Outcome:
        outcome = self._submit(operation).outcome
        assert outcome is not None, f"{operation} waits"
        return outcome

    def _submit(self, operation: Operation, client: str = "consumer") -> "EngineWaiting":
        return EngineWaiting(self.engine.submit(self.broker, operation, self.channel(client)), self.broker.name)

    def channel(self, client: str) -> DirectChannel:
        """Return the connection of a client to the broker."""
        key = (self.broker.name, self.broker.broker_id, client)
        return self._channels.setdefault(key, DirectChannel(client, ("10.0.0.7", 50_000)))

    def start_pop(self, pop: PopRequest) -> "EngineWaiting":
        operation = PopMessage(
            pop.group,
            pop.topic,
            queue_id=pop.queue,
            max_msg_nums=pop.count,
            invisible_ms=pop.invisible_ms,
            poll_ms=pop.poll_ms,
            born_ms=self.now_ms,
            init_mode=pop.begin,
            exp_type=pop.kind,
            exp=pop.expression,
            order=pop.order,
            attempt_id=pop.attempt,
        )
        return self._submit(operation, pop.client)

    def ack(self, *handles: str, topic: str = "T", group: str = "G") -> Answer:
        if len(handles) > 1:
            return _answer(self._ask(BatchAckMessage([_batch(handle, topic, group) for handle in handles])))
        (handle,) = handles
        real, queue, offset = place_of(handle, topic, group)
        return _answer(self._ask(AckMessage(group, real, queue, handle, offset)))

    def change(self, handle: str, invisible_ms: int, *, topic: str = "T", group: str = "G") -> Answer:
        real, queue, offset = place_of(handle, topic, group)
        outcome = self._ask(ChangeInvisibleTime(group, real, queue, handle, offset, invisible_ms))
        if not isinstance(outcome, ChangeInvisibleResult):
            return _answer(outcome)
        new = changed_handle(handle, outcome.pop_time, outcome.invisible_ms, outcome.revive_qid)
        return Answer(True, 0, "", handle=new)

    def send_message(self, message: NewMessage) -> "EngineWaiting":
        topic, body, properties = message.topic, message.body, message.properties
        return self._submit(
            SendMessage(topic, topic, message.queue, body, properties, BORN_HOST, self.now_ms, message.flags)
        )

    def _sent(self, operation: SendMessage) -> Sent:
        sent = self._submit(operation).sent
        assert sent is not None, f"{operation} waits"
        return sent

    def send_batch(self, *parts: tuple[bytes, dict[str, str]], topic: str = "T") -> Sent:
        return self.send_batch_with_properties(*parts, topic=topic)

    def start_end(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> "EngineWaiting":
        operation = EndTransaction(topic, sent.offset, sent.place, how, checked, sent.id, sent.id, topic)
        return self._submit(operation)

    def end(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> Answer | None:
        ending = self.start_end(sent, how, topic=topic, checked=checked)
        assert ending.outcome is not None, "it waits"
        return ending.response

    def route(self, topic: str = "T") -> dict[str, Route]:
        found = self._route(topic)
        if found is None:
            return {}
        ids = {each.broker_name: tuple(each.broker_ids) for each in found.brokers}
        return {
            each.broker_name: Route(
                each.read_queue_nums if each.perm & 4 else 0,
                each.write_queue_nums if each.perm & 2 else 0,
                ids[each.broker_name],
            )
            for each in found.queues
        }

    def order_configuration(self, topic: str = "T") -> str | None:
        found = self._route(topic)
        return None if found is None else found.order_topic_conf

    def _route(self, topic: str) -> RouteResult | None:
        outcome = self.engine.submit(self.engine.name_server, GetRouteInfo(topic)).outcome
        if isinstance(outcome, EngineError):
            assert outcome.code == 17, outcome
            return None
        assert isinstance(outcome, RouteResult)
        return outcome

    def recall(self, handle: str, topic: str = "T") -> Answer:
        outcome = self._ask(RecallMessage(topic, handle, "PG"))
        return Answer(True, 0, "", handle=outcome.msg_id) if isinstance(outcome, RecallResult) else _answer(outcome)

    def register_producer(self, client: str, topic: str = "T") -> None:
        self._submit(Heartbeat(client, [topic], []), client)

    def unregister_producer(self, client: str, topic: str = "T") -> None:
        self._submit(UnregisterClient(client, topic), client)

    def transaction_checks(self, client: str) -> list[TransactionCheck]:
        effects = self.channel(client).effects
        found = [each for each in effects if isinstance(each, CheckTransactionState)]
        effects.clear()
        return [_transaction_check(each) for each in found]

    def forward_to_dlq(self, message: Taken, *, topic: str = "T", group: str = "G") -> Answer:
        response = self.send_back(message.place, -1, group=group, most=0)
        return self.ack(message.handle, topic=topic, group=group) if response.ok else response

    def send_back(self, place: int, level: int = 0, *, group: str = "G", most: int | None = None) -> Answer:
        return _answer(self._ask(SendMessageBack(group, place, level, origin_topic="T", max_reconsume_times=most)))

    def send_to_retry_topic(
        self, body: bytes = b"0", *, group: str = "G", times: int = 0, most: int | None = None, **properties: str
    ) -> Sent:
        given = {"UNIQ_KEY": f"ID{next(self._names)}"} | properties
        message = SendMessage("PG", f"%RETRY%{group}", 0, body, given, BORN_HOST, self.now_ms)
        message.reconsume_times, message.max_reconsume_times = times, most
        return self._sent(message)

    def send_batch_with_properties(
        self, *parts: tuple[bytes, dict[str, str]], topic: str = "T", half: bool = False, **properties: str
    ) -> Sent:
        body, flags = batch_body(parts), SYS_TRANSACTION_PREPARED if half else 0
        message = SendMessage("PG", topic, 0, body, dict(properties), BORN_HOST, self.now_ms, flags, batch=True)
        return self._sent(message)

    def pull(
        self, offset: int, *, suspend_ms: int | None = None, expression: str = "*", kind: str = "TAG"
    ) -> "EngineWaiting":
        return self._submit(pull_of("G", "T", offset=offset, suspend_ms=suspend_ms, expression=expression, kind=kind))

    def notify(self, *, poll_ms: int = 0, queue: int = -1, order: bool = False) -> "EngineWaiting":
        return self._submit(Notification("G", "T", queue, poll_ms, self.now_ms, order))

    def peek(self, count: int = 32) -> Answer:
        outcome = self._ask(PeekMessage("G", "T", -1, count))
        return _popped(outcome, self.broker.name) if isinstance(outcome, PopResult) else _answer(outcome)

    def polling_number(self, queue: int = -1) -> int:
        outcome = self._ask(PollingInfo("G", "T", queue))
        assert isinstance(outcome, PollingInfoResult)
        return outcome.polling_num

    def lock(self, client: str, *queues: int) -> list[int]:
        outcome = self._ask(LockBatchMq("G", client, self._queues(queues)))
        assert isinstance(outcome, LockBatchResult)
        return sorted(each.queue_id for each in outcome.queues)

    def unlock(self, client: str, *queues: int) -> None:
        assert isinstance(self._ask(UnlockBatchMq("G", client, self._queues(queues))), Done)

    def _queues(self, queues: tuple[int, ...]) -> list[MessageQueue]:
        return [MessageQueue("T", self.broker.name, queue) for queue in queues]

    def heartbeat(self, client: str, group: str = "G", topic: str = "T") -> None:
        data = ConsumerData(group, subscriptions=[SubscriptionData(topic, "*", sub_version=1)])
        self._submit(Heartbeat(client, [], [data], version=VERSION_5_3_3), client)

    def unregister_consumer(self, client: str, group: str = "G") -> None:
        self._submit(UnregisterClient(client, None, group), client)

    def request_mode(self, mode: str, share: int) -> None:
        assert isinstance(self._ask(SetMessageRequestMode("T", "G", mode, share)), Done)

    def assignments(
        self, client: str, strategy: str = "AVG", model: str = "CLUSTERING", *, group: str = "G", topic: str = "T"
    ) -> list[tuple[str, int, str]] | None:
        outcome = self._ask(QueryAssignment(topic, group, client, strategy, message_model=model))
        assert isinstance(outcome, AssignmentResult)
        if outcome.assignments is None:
            return None
        return [(each.queue.broker_name, each.queue.queue_id, each.mode) for each in outcome.assignments]

    def consume_statistics(self) -> dict[int, tuple[int, int]]:
        outcome = self._ask(GetConsumeStats("G", "T"))
        assert isinstance(outcome, ConsumeStatsResult)
        return {
            queue.queue_id: (found.broker_offset, found.consumer_offset)
            for queue, found in outcome.offsets.items()
            if queue.topic == "T"
        }


class EngineWaiting:
    """A submitted call of the engine."""

    def __init__(self, call: DirectCall, broker_name: str) -> None:
        self._call = call
        self._broker_name = broker_name

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the engine."""
        return self._call.outcome

    @property
    def sent(self) -> Sent | None:
        """The outcome of a send."""
        outcome = self._call.outcome
        if outcome is None:
            return None
        if isinstance(outcome, EngineError):
            return Sent(False, outcome.code, outcome.remark or "")
        assert isinstance(outcome, SendResult), outcome
        handle, unique = outcome.recall_handle or "", outcome.transaction_id or ""
        return Sent(
            outcome.code == 0,
            outcome.code,
            "",
            unique,
            offset=outcome.queue_offset,
            place=outcome.physical_offset,
            recall=handle,
        )

    @property
    def response(self) -> Answer | None:
        """The outcome as the common response; None if it is pending or if there is no response."""
        match self._call.outcome:
            case None | NoResponse():
                return None
            case PopResult() as outcome:
                return _popped(outcome, self._broker_name)
            case PullResult() as outcome:
                messages = [
                    _taken(record, "", queue_offset=at)
                    for record, at in zip(outcome.records, outcome.offsets, strict=True)
                ]
                suggests = outcome.suggest_which_broker_id
                code, next_offset = outcome.code, outcome.next_begin_offset
                return Answer(code == 0, code, outcome.status.value, messages, number=next_offset, suggests=suggests)
            case NotificationResult() as outcome:
                return Answer(True, 0, "polling full" if outcome.polling_full else "", number=int(outcome.has_msg))
            case outcome:
                return _answer(outcome)


def _answer(outcome: Outcome) -> Answer:
    if isinstance(outcome, EngineError):
        return Answer(False, outcome.code, outcome.remark or "")
    return Answer(True, 0, "")


def _popped(outcome: PopResult, broker_name: str) -> Answer:
    messages = []
    for each in outcome.messages:
        receipt = popped_receipt(outcome, each, broker_name)
        again = attempt_in_order(outcome.order_count_info, each.queue_id, each.queue_offset)
        messages.append(_taken(each.record, receipt.text(), again, each.queue_id, queue_offset=each.queue_offset))
    remark = outcome.remark or ("" if messages else "NO_MESSAGE_IN_QUEUE")
    return Answer(bool(messages), outcome.code, remark, messages, number=outcome.rest_num)


def _taken(record: bytes, handle: str, again: int = 0, queue_id: int = 0, *, queue_offset: int = 0) -> Taken:
    found = decode(record)
    known = found.property_map()
    keys = tuple(known.get("KEYS", "").split())
    attempt = found.reconsume_times + again
    return Taken(
        found.body,
        handle,
        attempt,
        queue_id,
        offset=queue_offset,
        message_id=known.get("UNIQ_KEY", ""),
        tag=known.get("TAGS", ""),
        keys=keys,
        place=found.physical_offset,
    )


def _transaction_check(check: CheckTransactionState) -> TransactionCheck:
    record = decode(check.record)
    sent = Sent(True, 0, "", check.transaction_id, offset=check.tran_state_table_offset, place=check.commit_log_offset)
    return TransactionCheck(record.body, int(record.property_map()["TRANSACTION_CHECK_TIMES"]), sent)


def _batch(handle: str, topic: str, group: str) -> BatchAck:
    start, popped, invisible, revive, digit, _, queue, offset = handle.split(" ")
    bits = 1 << int(offset) - int(start)
    return BatchAck(
        group, topic, digit, int(start), int(queue), int(revive), int(popped), int(invisible), bit_set(bits)
    )
