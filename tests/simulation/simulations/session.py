"""One simulated broker with its clients: sends requests, and reports requests and responses to the onlooker.

The onlooker is a callback that receives all observations, including lost responses.
"""

from collections.abc import Callable, Iterable, Mapping

import observations as obs
from half_messages import half_stored
from pull_operation import pull_of
from rocketmq_testkit.emulator.assembly.listeners import ArrivalListener
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.filter.message_filter import build_subscription
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.message.names import HALF_TOPIC
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations import clients as client_operations
from rocketmq_testkit.emulator.operations import consume
from rocketmq_testkit.emulator.operations import offsets as offset_operations
from rocketmq_testkit.emulator.operations.base import Done, Operation
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.send import SendMessage, SendMessageBack, SendResult
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from simulated_call import OnAnswer, SimulatedCall
from simulated_client import Client, batch_entry, handle_of, order_counts, receipt
from snapshots import Snapshots

START_MS = 1_700_000_000_000
DELAY_LEVELS_MS = (1_000, 5_000)
Onlooker = Callable[[obs.Observation], None]


def clean_up_ms(scheduler: Scheduler) -> int | None:
    """Return the time at which a broker next checks for files to delete (ms since the epoch), None if it never does."""
    return next((timer.due_ms for timer in scheduler.scheduled() if timer.kind == "clean up"), None)


class Session:
    """An engine, its clients and the onlooker. The caller makes all random choices."""

    def __init__(
        self,
        config: BrokerConfig,
        emulation: EmulationConfig,
        seed: int,
        onlooker: Onlooker,
        *,
        now_ms: int = START_MS,
        shared: tuple[Engine, int] | None = None,
    ) -> None:
        """`shared` is an engine of several brokers with the index of this session's broker; None makes an engine."""
        self.engine = shared[0] if shared else Engine(brokers=[config], emulation=emulation, seed=seed, now_ms=now_ms)
        self.broker = self.engine.brokers[shared[1] if shared else 0]
        self.deletes = config.mapped_file_size_commit_log < BrokerConfig().mapped_file_size_commit_log
        self.lookers: list[Callable[[], None]] = [self.look_at_files] if self.deletes else []
        """Functions that report deleted log files, one per broker of the engine; called after each check for files."""
        self.is_observed: Callable[[str], bool] = lambda topic: True
        """False for the topics that another model than the oracle observes."""
        self.shows_retry_topics = config.pop_consumer_kv_service_enable
        self._onlooker = onlooker
        self._snapshots = Snapshots((), ())
        self._limits: dict[str, int] = {}
        self._calls = 0
        self._asking: SimulatedCall | None = None
        self._own: Outcome | None = None
        self._meanwhile: list[tuple[SimulatedCall, Outcome]] = []
        self._begin = 0
        self.listen()

    @property
    def now_ms(self) -> int:
        """The simulated time (ms since the epoch)."""
        return self.engine.scheduler.now_ms

    # requests

    def ask(
        self,
        client: Client,
        operation: Operation,
        on_answer: OnAnswer,
        on_wait: Callable[[int], None] | None = None,
    ) -> int:
        """Send a request; `on_wait` is called with the call's number if it is parked."""
        self._calls += 1
        call = SimulatedCall(self.answered, self._calls, client, on_answer)
        self._asking, self._own = call, None
        self.engine.gate.submit(self.broker, call, operation)
        self._asking = None
        if not self.broker.running:
            assert isinstance(self._own, EngineError), self._own
            assert self._own.code.name == "SERVICE_NOT_AVAILABLE", self._own
            return call.number
        if self._own is not None:
            on_answer(self._own, False)
        elif on_wait is not None:
            on_wait(call.number)
        else:
            raise AssertionError(f"{operation} waits")
        # Responses to other calls that this request caused come after its own response.
        meanwhile, self._meanwhile = self._meanwhile, []
        for other, outcome in meanwhile:
            other.on_answer(outcome, True)
        return call.number

    def answered(self, call: SimulatedCall, outcome: Outcome) -> None:
        """Handle the response to a call."""
        if call is self._asking:
            self._own = outcome
        elif self._asking is not None:
            self._meanwhile.append((call, outcome))
        else:
            call.on_answer(outcome, True)

    def note(self, seen: obs.Observation) -> None:
        """Report an observation to the onlooker, after any deletions."""
        self.look_at_files()
        self._onlooker(seen)

    def look_at_files(self) -> None:
        """Report to the onlooker if log files were deleted."""
        log = self.broker.store.log
        if log.min_offset != self._begin:
            self._begin = log.min_offset
            self._onlooker(obs.Deleted(self.now_ms, log.min_offset, log.max_offset))

    def _stored(self, topic: str, queue_id: int, offset: int, _code: int, properties: Mapping[str, str]) -> None:
        is_half = topic == HALF_TOPIC
        if topic.startswith(("rmq_sys_", "SCHEDULE_TOPIC", "RMQ_SYS_")) and not is_half:
            return
        if not self.is_observed(topic):
            return
        record = self.broker.store.record(topic, queue_id, offset)
        if record is None:
            raise AssertionError(f"{topic}@{queue_id}:{offset} cannot be read")
        message = decode(record)
        if is_half:
            self.note(half_stored(self.now_ms, offset, message))
            return
        first_pop = properties.get("1ST_POP_TIME")
        self.note(
            obs.Stored(
                self.now_ms,
                topic,
                queue_id,
                offset,
                message.body.rstrip(b".").decode(),
                properties.get("UNIQ_KEY", ""),
                properties.get("TAGS"),
                message.reconsume_times,
                message.born_timestamp,
                message.store_timestamp,
                int(properties.get("DELAY", "0")),
                int(first_pop) if first_pop is not None else None,
                message.physical_offset,
                properties.get("KEYS"),
                properties.get("color"),
            )
        )

    # time

    def watch(self, offsets: Iterable[tuple[str, obs.Place]], queues: Iterable[obs.Place]) -> None:
        """Observe these offsets of groups and these queues after every step."""
        self._snapshots = Snapshots(offsets, queues)

    def end_step(self) -> None:
        """Report changed offsets and queues, and that everything due has happened."""
        for seen in self._snapshots.changes(self.broker, self.now_ms):
            self.note(seen)
        self.note(obs.StepEnded(self.now_ms))

    def advance(self, ms: int) -> None:
        """Advance the simulated time."""
        scheduler, end_ms = self.engine.scheduler, self.now_ms + ms
        while self.lookers and (due_ms := clean_up_ms(scheduler)) is not None and due_ms <= end_ms:
            scheduler.advance_to(due_ms)
            for look in self.lookers:
                look()
        scheduler.advance_to(end_ms)

    # producers

    def create_topic(self, name: str, queues: int) -> None:
        """Create a topic."""
        self.engine.execute(self.broker, CreateTopic(TopicConfig(name, queues, queues)))

    def limit(self, group: str, retries: int) -> None:
        """Set the retry limit of a group, for send-backs without their own limit."""
        self._limits[group] = retries
        self.engine.execute(self.broker, CreateGroup(GroupConfig(group, retry_max_times=retries)))

    def send(
        self,
        client: Client,
        topic: str,
        queue_id: int,
        message_id: str,
        *,
        tag: str | None,
        level: int = 0,
        timer_ms: int = 0,
        size: int = 0,
    ) -> None:
        """Send one message, optionally with a delay level or a delay of `timer_ms`."""
        properties = {"UNIQ_KEY": message_id, "KEYS": f"{message_id} {topic}", "color": f"{tag} {level}"}
        if tag is not None:
            properties["TAGS"] = tag
        due = None
        now = self.now_ms
        if level:
            properties["DELAY"] = str(level)
            due = now + DELAY_LEVELS_MS[level - 1]
        elif timer_ms > 0:
            due = now + timer_ms
            properties["TIMER_DELIVER_MS"] = str(due)
        body = message_id.encode().ljust(size, b".")

        def on_answer(outcome: Outcome, waited: bool) -> None:
            assert isinstance(outcome, SendResult), outcome
            place = outcome.queue_offset, message_id, level, due, outcome.physical_offset
            self.note(obs.Sent(now, topic, outcome.queue_id, *place))

        request = SendMessage("producers", topic, queue_id, body, properties, ("10.0.0.1", 5000), now)
        self.ask(client, request, on_answer)

    # consumers that pop

    def pop(  # noqa: PLR0913 - the fields of a pop, and its troubles
        self,
        client: Client,
        topic: str,
        queue_id: int,
        count: int,
        *,
        invisible_ms: int,
        poll_ms: int,
        late_ms: int = 0,
        order: bool = False,
        attempt_id: str | None = None,
        forget: bool = False,
    ) -> None:
        """Pop with a request that is `late_ms` old at its arrival; with `forget` the response is lost."""
        born = self.now_ms - late_ms
        deadline = max(born + poll_ms, self.now_ms)
        number = self._calls + 1

        def on_answer(outcome: Outcome, waited: bool) -> None:
            if isinstance(outcome, EngineError):
                assert outcome.code.name == "POLLING_TIMEOUT", outcome
                assert late_ms > poll_ms + 500, outcome
                return
            assert isinstance(outcome, consume.PopResult), outcome
            popped = self._popped(client, topic, outcome, order)
            if not forget:
                client.handles += [message.handle for message in popped if message.handle is not None]
            self.note(
                obs.Popped(
                    self.now_ms,
                    number,
                    client.channel.channel_id,
                    client.group,
                    topic,
                    queue_id,
                    count,
                    invisible_ms,
                    deadline,
                    order,
                    attempt_id,
                    waited,
                    outcome.code.name,
                    outcome.rest_num,
                    popped,
                )
            )

        def on_wait(number: int) -> None:
            self.note(
                obs.PopParked(
                    self.now_ms,
                    number,
                    client.channel.channel_id,
                    client.group,
                    topic,
                    queue_id,
                    order,
                    deadline,
                )
            )

        self.ask(
            client,
            consume.PopMessage(
                client.group,
                topic,
                queue_id=queue_id,
                max_msg_nums=count,
                invisible_ms=invisible_ms,
                poll_ms=poll_ms,
                born_ms=born,
                init_mode=0 if self.deletes else 1,  # with MAX (1) a new group would miss all messages but the last
                exp_type=client.expression_type,
                exp=client.expression,
                order=order,
                attempt_id=attempt_id,
            ),
            on_answer,
            on_wait,
        )

    def _popped(self, client: Client, topic: str, result: consume.PopResult, order: bool) -> tuple[obs.Delivery, ...]:
        counts = order_counts(result.order_count_info) if order else {}
        found = []
        for message in result.messages:
            record = decode(message.record)
            handle = handle_of(client.group, topic, message, result, broker=self.broker.name)
            if message.topic_digit:
                assert record.topic == (handle.topic if self.shows_retry_topics else topic), record
            if message.topic_digit and not self.shows_retry_topics:
                assert record.property_map()["POP_CK"] == receipt(handle), record
            found.append(
                obs.Delivery(
                    handle.topic,
                    message.queue_id,
                    message.queue_offset,
                    record.body.rstrip(b".").decode(),
                    message.reconsume_times,
                    handle,
                    counts.get((message.queue_id, message.queue_offset), 0),
                )
            )
        return tuple(found)

    def ack(self, client: Client, handle: obs.Handle, *, order: bool = False) -> None:
        """Acknowledge a message by its handle."""

        def on_answer(outcome: Outcome, waited: bool) -> None:
            code = outcome.code.name if isinstance(outcome, EngineError) else "SUCCESS"
            self.note(obs.Acked(self.now_ms, handle, order, code))

        operation = consume.AckMessage(handle.group, handle.topic, handle.queue_id, receipt(handle), handle.offset)
        self.ask(client, operation, on_answer)

    def batch_ack(self, client: Client, topic: str, handles: Iterable[obs.Handle]) -> None:
        """Acknowledge several unordered handles of one topic with one request."""
        batches: dict[obs.Handle, tuple[int, list[obs.Handle]]] = {}
        for handle in handles:
            key = handle._replace(offset=-1)
            bits, members = batches.get(key, (0, []))
            if handle.offset - handle.start_offset < 64:
                batches[key] = (bits | 1 << (handle.offset - handle.start_offset), [*members, handle])

        def on_answer(outcome: Outcome, waited: bool) -> None:
            assert isinstance(outcome, Done), outcome
            for _, members in batches.values():
                for handle in members:
                    self.note(obs.Acked(self.now_ms, handle, False, "SUCCESS", batch=True))

        entries = [batch_entry(key, topic, bits) for key, (bits, _) in batches.items()]
        if entries:
            self.ask(client, consume.BatchAckMessage(entries, self.broker.name), on_answer)

    def hide(
        self, client: Client, handle: obs.Handle, invisible_ms: int, *, order: bool = False, forget: bool = False
    ) -> None:
        """Change the invisible duration; the client uses the new handle; with `forget` it never gets the response."""

        def on_answer(outcome: Outcome, waited: bool) -> None:
            if isinstance(outcome, EngineError):
                self.note(obs.Hidden(self.now_ms, handle, order, invisible_ms, outcome.code.name, None))
                return
            assert isinstance(outcome, consume.ChangeInvisibleResult), outcome
            new = handle._replace(
                start_offset=handle.start_offset if order else handle.offset,
                pop_time=outcome.pop_time,
                invisible_ms=outcome.invisible_ms,
                revive_qid=outcome.revive_qid,
            )
            if not forget and not order and handle in client.handles:
                client.handles[client.handles.index(handle)] = new
            self.note(obs.Hidden(self.now_ms, handle, order, invisible_ms, "SUCCESS", new))

        operation = consume.ChangeInvisibleTime(
            handle.group, handle.topic, handle.queue_id, receipt(handle), handle.offset, invisible_ms
        )
        self.ask(client, operation, on_answer)

    def notify(self, client: Client, topic: str, poll_ms: int) -> None:
        """Wait until a pop would find messages."""
        deadline = self.now_ms + poll_ms
        number = self._calls + 1

        def on_answer(outcome: Outcome, waited: bool) -> None:
            assert isinstance(outcome, consume.NotificationResult), outcome
            self.note(obs.Notified(self.now_ms, number, client.group, topic, outcome.has_msg, waited, deadline))

        def on_wait(number: int) -> None:
            channel_id = client.channel.channel_id
            self.note(obs.NotifyParked(self.now_ms, number, channel_id, client.group, topic, deadline))

        operation = consume.Notification(client.group, topic, -1, poll_ms, self.now_ms)
        self.ask(client, operation, on_answer, on_wait)

    # consumers that pull

    def pull(
        self,
        client: Client,
        topic: str,
        queue_id: int,
        offset: int,
        *,
        count: int,
        suspend_ms: int | None = None,
        forget: bool = False,
    ) -> int:
        """Pull, and wait if `suspend_ms` is set; return the next offset, or `offset` while it waits."""
        number = self._calls + 1
        deadline = None if suspend_ms is None else self.now_ms + suspend_ms
        went_on = offset

        def on_answer(outcome: Outcome, waited: bool) -> None:
            nonlocal went_on
            assert isinstance(outcome, consume.PullResult), outcome
            found = []
            for record in outcome.records:
                message = decode(record)
                message_id = message.body.rstrip(b".").decode()
                found.append(obs.Delivery(topic, queue_id, message.queue_offset, message_id, message.reconsume_times))
                if not forget:
                    client.pulled.append((message_id, message.reconsume_times, message.physical_offset, topic))
            if not forget:
                went_on = outcome.next_begin_offset
            self.note(
                obs.Pulled(
                    self.now_ms,
                    number,
                    client.group,
                    topic,
                    queue_id,
                    offset,
                    count,
                    waited,
                    deadline,
                    outcome.code.name,
                    outcome.next_begin_offset,
                    outcome.min_offset,
                    outcome.max_offset,
                    tuple(found),
                )
            )

        def on_wait(number: int) -> None:
            assert deadline is not None
            self.note(
                obs.PullHeld(
                    self.now_ms, number, client.channel.channel_id, client.group, topic, queue_id, offset, deadline
                )
            )

        self.ask(
            client,
            pull_of(
                client.group,
                topic,
                queue=queue_id,
                offset=offset,
                count=count,
                suspend_ms=suspend_ms,
                expression=client.expression,
                kind=client.expression_type,
            ),
            on_answer,
            on_wait,
        )
        return went_on

    def commit(self, client: Client, topic: str, queue_id: int, offset: int) -> None:
        """Commit an offset."""

        def on_answer(outcome: Outcome, waited: bool) -> None:
            assert isinstance(outcome, Done), outcome
            self.note(obs.Committed(self.now_ms, client.group, topic, queue_id, offset))

        self.ask(client, offset_operations.UpdateConsumerOffset(client.group, topic, queue_id, offset), on_answer)

    def send_back(self, client: Client, pulled: tuple[str, int, int, str], level: int, most: int | None) -> None:
        """Send a message back with a delay level: 0 leaves it to the broker, -1 means the dead letter queue.

        `pulled` is (message id, attempt, physical offset, topic); `most` is the retry limit, None that of the group.
        """
        message_id, attempt, physical_offset, topic = pulled
        limit = self._limits.get(client.group, 16) if most is None else most

        def on_answer(outcome: Outcome, waited: bool) -> None:
            code = outcome.code.name if isinstance(outcome, EngineError) else "SUCCESS"
            end = self.broker.store.log.max_offset - 1
            self.note(
                obs.SentBack(self.now_ms, client.group, message_id, attempt, level, limit, code, physical_offset, end)
            )

        operation = SendMessageBack(client.group, physical_offset, level, message_id, topic, False, most)
        self.ask(client, operation, on_answer)

    # all clients

    def reset(self, client: Client, topic: str, queue_id: int, offset: int) -> None:
        """Reset the offset of a group."""

        def on_answer(outcome: Outcome, waited: bool) -> None:
            assert isinstance(outcome, offset_operations.ResetOffsetResult), outcome
            offsets, queues = self.broker.offsets, self.broker.topics.get(topic).read_queue_nums
            others = [(one, offsets.query(client.group, topic, one)) for one in range(queues) if one != queue_id]
            self.note(
                obs.Reset(self.now_ms, client.group, topic, tuple(sorted(outcome.offsets.items())), tuple(others))
            )

        self.ask(client, offset_operations.ResetOffset(client.group, topic, 0, queue_id, offset=offset), on_answer)

    def look(self, client: Client, topic: str, queue_id: int) -> None:
        """Query the committed offset, the offsets of the queue and the members of the group."""

        def on_offset(outcome: Outcome, waited: bool) -> None:
            offset = outcome.offset if isinstance(outcome, offset_operations.OffsetResult) else None
            self.note(obs.OffsetSeen(self.now_ms, client.group, topic, queue_id, offset))

        def on_members(outcome: Outcome, waited: bool) -> None:
            clients = tuple(outcome.client_ids) if isinstance(outcome, client_operations.ConsumerListResult) else ()
            self.note(obs.MembersSeen(self.now_ms, client.group, clients))

        self.ask(client, offset_operations.QueryConsumerOffset(client.group, topic, queue_id), on_offset)
        low, high = (
            self.engine.execute(self.broker, kind(topic, queue_id))
            for kind in (offset_operations.GetMinOffset, offset_operations.GetMaxOffset)
        )
        assert isinstance(low, offset_operations.OffsetResult)
        assert isinstance(high, offset_operations.OffsetResult)
        self.note(obs.RangeSeen(self.now_ms, topic, queue_id, low.offset, high.offset))
        self.ask(client, client_operations.GetConsumerListByGroup(client.group), on_members)

    def beat(self, client: Client, topics: Iterable[str]) -> None:
        """Send a heartbeat."""

        def on_answer(outcome: Outcome, waited: bool) -> None:
            assert isinstance(outcome, client_operations.HeartbeatResult), outcome
            self.note(obs.Beat(self.now_ms, client.channel.channel_id, client.group))

        subscriptions = [build_subscription(topic, client.expression, client.expression_type) for topic in topics]
        data = client_operations.ConsumerData(client.group, subscriptions=subscriptions)
        self.ask(client, client_operations.Heartbeat(client.channel.channel_id, ["producers"], [data]), on_answer)

    def leave(self, client: Client, *, close: bool) -> None:
        """Unregister, or lose the connection and reconnect."""
        left = obs.Left(self.now_ms, client.channel.channel_id, client.group, close)
        if close:
            client.channel.active = False
            self.note(left)
            self.engine.submit(self.broker, client_operations.ChannelClosed(), client.channel)
            client.connect()
            return
        operation = client_operations.UnregisterClient(client.channel.channel_id, "producers", client.group)
        self.ask(client, operation, lambda outcome, waited: self.note(left))

    def listen(self) -> None:
        """Observe messages stored from now on; a restarted broker has lost its listeners."""
        self.broker.store.arrivals.insert(0, ArrivalListener(self._stored))

    def drained(self) -> None:
        """Report that all groups consumed until no message was left."""
        self.note(obs.Drained(self.now_ms))
