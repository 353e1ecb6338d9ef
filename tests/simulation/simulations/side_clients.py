"""Clients of the topics that administrators delete and create again, and the remaining operations of clients and tools.

A consumer that listens gets requests of the broker and replies, and responds to two of three.
"""

from typing import TYPE_CHECKING, NamedTuple

import observations as obs
from administered import POPPERS, PULLERS, SIDE_TOPICS, STATIC_TOPIC
from administration import Change
from pull_operation import pull_of
from rocketmq_testkit.emulator.filter.message_filter import build_subscription
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.gate.effects import Effect, PushReplyMessage, ServerRequest
from rocketmq_testkit.emulator.message.stored_record import decode, offset_message_id
from rocketmq_testkit.emulator.operations import cluster, consume, tools
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ConsumerData, DropInactiveRequests, Heartbeat
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import (
    ClientResponded,
    ResumeCheckHalfMessage,
    SendMessage,
    SendReplyMessage,
    SendResult,
)
from simulated_client import Client, batch_entry, handle_of, receipt
from stored_messages import Violation
from transactions import HALF_TOPIC

if TYPE_CHECKING:
    from all_operations import AllOperations
    from simulation import Action

VERSION = 477
"""The version number of a client that supports every request of the broker."""
INVISIBLE_MS = (3_000, 10_000, 60_000)
HOST = ("10.0.0.1", 5000)


class Held(NamedTuple):
    """A message in flight, with its topic (not the retry topic) and its receipt handle."""

    topic: str
    body: str
    handle: obs.Handle


def _place(action: "Action") -> tuple[str, int]:
    topic = SIDE_TOPICS[action.a % 3]
    return topic, 0 if topic == STATIC_TOPIC else action.b % 2


# messages


def _message(simulation: "AllOperations", action: "Action", properties: dict[str, str]) -> SendMessage:
    topic, queue_id = _place(action)
    body, now = f"s{simulation.steps}", simulation.session.now_ms
    return SendMessage("side-producers", topic, queue_id, body.encode(), properties, HOST, now)


def _refusal(simulation: "AllOperations", topic: str) -> str:
    """Return the error of a send. Upstream checks no permission of the topic: that is for clients, in its route."""
    return "" if topic in simulation.side.topics else "TOPIC_NOT_EXIST"


def send(simulation: "AllOperations", action: "Action") -> None:
    """Send a message to a topic that may not exist."""
    sent = _message(simulation, action, {"UNIQ_KEY": f"s{simulation.steps}"})
    if not simulation.request(sent, _refusal(simulation, sent.topic)):
        _stored(simulation, sent, f"s{simulation.steps}", simulation.result)


def _stored(simulation: "AllOperations", sent: SendMessage, body: str, result: object) -> None:
    assert isinstance(result, SendResult), result
    topic, queue_id = sent.topic, sent.queue_id
    queue = simulation.side.messages[topic, queue_id]
    if (result.queue_id, result.queue_offset) != (queue_id, len(queue)):
        raise Violation(f"{body} is stored as {result}, and {topic}@{queue_id} has {len(queue)} messages")
    queue.append(body)
    simulation.side.unacknowledged[topic].add(body)


def reply(simulation: "AllOperations", action: "Action") -> None:
    """Send a reply to the client that listens, to one that does not exist, or to none."""
    receiver = (simulation.listener.channel.channel_id, "nobody", None)[action.c % 3]
    properties = {
        "CORRELATION_ID": str(simulation.steps),
        **({} if receiver is None else {"REPLY_TO_CLIENT": receiver}),
    }
    sent, body = _message(simulation, action, properties), f"s{simulation.steps}"
    refused = _refusal(simulation, sent.topic)

    def on_answer(outcome: Outcome) -> None:
        if not refused:
            assert isinstance(outcome, SendResult), outcome
            if outcome.code.name != "SYSTEM_ERROR" and receiver in ("nobody", None):
                raise Violation(f"a reply to {receiver}: {outcome}")
            _stored(simulation, sent, body, outcome)

    simulation.request(SendReplyMessage(sent), refused, waits=True, on_answer=on_answer)


# consumers that pull


def pull(simulation: "AllOperations", action: "Action") -> None:
    """Pull from an offset, or from the offset of a pending reset."""
    (topic, queue_id), group = _place(action), PULLERS[action.c % 2]
    found = simulation.side.topics.get(topic)
    queue = simulation.side.messages[topic, queue_id]
    offset = action.d % (len(queue) + 1)
    operation = pull_of(group, topic, queue=queue_id, offset=offset, count=8)
    simulation.side.use_group(group)
    if simulation.request(operation, "TOPIC_NOT_EXIST" if found is None else ""):
        return
    result = simulation.result
    assert isinstance(result, consume.PullResult), result
    bodies = [decode(record).body.decode() for record in result.records]
    reset = simulation.side.resets.pop((group, topic, queue_id), None)
    wanted = queue[offset : offset + 8] if reset is None else []
    if bodies != wanted:
        raise Violation(f"{operation} returns {bodies}, expected are {wanted}")
    after = offset + len(wanted) if reset is None else reset
    if result.next_begin_offset != after:
        raise Violation(f"{operation} continues at {result.next_begin_offset}, expected is {after}")


def commit(simulation: "AllOperations", action: "Action") -> None:
    """Commit an offset of a group in a topic; one of them may not exist."""
    (topic, queue_id), group = _place(action), PULLERS[action.c % 2]
    offset = action.d % (len(simulation.side.messages[topic, queue_id]) + 1)
    code = "SUBSCRIPTION_GROUP_NOT_EXIST" if group not in simulation.side.groups else ""
    if not code and topic not in simulation.side.topics:
        code = "TOPIC_NOT_EXIST"
    refused = simulation.request(UpdateConsumerOffset(group, topic, queue_id, offset), code)
    if not refused and (group, topic, queue_id) not in simulation.side.resets:
        simulation.side.commit((group, topic, queue_id), offset, simulation.session.now_ms)


# consumers that pop


def pop(simulation: "AllOperations", action: "Action") -> None:
    """Pop from all queues of a topic that may not exist."""
    take(simulation, SIDE_TOPICS[action.a % 3], INVISIBLE_MS[action.b % 3], 1 + action.c % 8)


def take(simulation: "AllOperations", topic: str, invisible_ms: int, count: int) -> int:
    """Pop from all queues of a topic; return the number of messages."""
    operation = consume.PopMessage(
        POPPERS, topic, -1, count, invisible_ms, born_ms=simulation.session.now_ms, exp_type="TAG", exp="*"
    )
    missing = topic not in simulation.side.topics
    if not missing:
        simulation.side.use_group(POPPERS)
    if simulation.request(operation, "TOPIC_NOT_EXIST" if missing else ""):
        return 0
    result = simulation.result
    assert isinstance(result, consume.PopResult), result
    for message in result.messages:
        body = decode(message.record).body.decode()
        handle = handle_of(POPPERS, topic, message, result, broker=simulation.session.broker.name)
        simulation.side.took(topic, body)
        simulation.handles.append(Held(topic, body, handle))
    return len(result.messages)


def ack(simulation: "AllOperations", action: "Action") -> None:
    """Acknowledge a message of a topic, or one of a topic that was deleted since."""
    if simulation.stale and action.b % 3 == 0:
        _ack_stale(simulation, simulation.stale[action.a % len(simulation.stale)].handle)
    elif not simulation.handles:
        return
    else:
        acknowledge(simulation, simulation.handles.pop(action.a % len(simulation.handles)))


def acknowledge(simulation: "AllOperations", held: Held) -> None:
    """Acknowledge a message; its invisible duration may be over, and then it is redelivered."""
    handle = held.handle
    simulation.request(consume.AckMessage(POPPERS, handle.topic, handle.queue_id, receipt(handle), handle.offset))
    simulation.side.acknowledged(held.topic, held.body, in_time=simulation.session.now_ms < handle.hidden_until)


def _ack_stale(simulation: "AllOperations", handle: obs.Handle) -> None:
    """Acknowledge with a receipt of a deleted topic, which acknowledges no message of a new topic with its name."""
    broker = simulation.session.broker
    code = "NO_MESSAGE" if handle.offset > broker.store.max_offset(handle.topic, handle.queue_id) else ""
    if broker.topics.find(handle.topic) is None:
        code = "TOPIC_NOT_EXIST"
    simulation.request(consume.AckMessage(POPPERS, handle.topic, handle.queue_id, receipt(handle), handle.offset), code)


def batch_ack(simulation: "AllOperations", action: "Action") -> None:
    """Acknowledge several messages with one request, or none."""
    if action.b % 6 == 5:
        simulation.request(consume.BatchAckMessage(None, simulation.session.broker.name), "NO_MESSAGE")
        return
    taken, simulation.handles = simulation.handles[: 1 + action.a % 4], simulation.handles[1 + action.a % 4 :]
    entries = [
        batch_entry(held.handle, held.topic, 1 << (held.handle.offset - held.handle.start_offset)) for held in taken
    ]
    if entries:
        simulation.request(consume.BatchAckMessage(entries, simulation.session.broker.name))
        for held in taken:
            in_time = simulation.session.now_ms < held.handle.hidden_until
            simulation.side.acknowledged(held.topic, held.body, in_time=in_time)


# requests of the broker to a client


def beat(simulation: "AllOperations") -> None:
    """Register the client that listens."""
    subscriptions = [build_subscription(topic, "*", "TAG") for topic in SIDE_TOPICS[:2]]
    data = ConsumerData("side-push", subscriptions=subscriptions)
    client_id = simulation.listener.channel.channel_id
    simulation.request(Heartbeat(client_id, ["side-producers"], [data], version=VERSION), client=simulation.listener)


def pushed(simulation: "AllOperations", client: Client, effect: Effect) -> None:
    """Note a request of the broker, to which the client responds in a later action."""
    if isinstance(effect, ServerRequest):
        (simulation.to_respond if effect.ticket % 3 else simulation.tickets).append(effect.ticket)
        if isinstance(effect, PushReplyMessage) and not effect.body.decode().startswith("s"):
            raise Violation(f"no reply was sent: {effect}")


def respond(simulation: "AllOperations", action: "Action") -> None:
    """Respond to a request of the broker, to an earlier one again, or to one that the broker never sent."""
    ticket = (
        simulation.tickets[-1 - action.a % len(simulation.tickets)]
        if simulation.tickets and action.b % 5
        else 10_000 + action.a
    )
    code = (0, 0, 1)[action.c % 3]
    simulation.request(ClientResponded(ticket, code, None, {}, body=b"{}"), client=simulation.listener)


def drop_inactive(simulation: "AllOperations", action: "Action") -> None:
    """Drop the inactive waiting requests of a client: those of the simulation are all active."""
    before, operation = simulation.digest(), DropInactiveRequests()
    simulation.request(operation, client=simulation.clients[action.client % len(simulation.clients)])
    simulation.compare(before, operation)


# requests of tools


def resume_check(simulation: "AllOperations", action: "Action") -> None:
    """Resume the checks of a half message, which may be ended, or try to with an id of no message."""
    session = simulation.session
    known = simulation.halves.open
    if not known or action.b % 4 == 3:
        simulation.request(ResumeCheckHalfMessage(("", "AB", None, "F" * 32)[action.c % 4]), "SYSTEM_ERROR")
        return
    half = known[action.a % len(known)]
    offset = session.broker.store.max_offset(HALF_TOPIC, 0)
    message_id = offset_message_id(session.broker.store.store_host, half.physical_offset)
    simulation.request(ResumeCheckHalfMessage(message_id))
    record = session.broker.store.log.record_at(half.physical_offset)
    assert record is not None
    topic = decode(record).property_map()["REAL_TOPIC"]
    session.note(obs.Prepared(session.now_ms, topic, half.message_id, offset))


def clean_unused_topics(simulation: "AllOperations", action: "Action") -> None:
    """Delete the queues of topics that do not exist: of replies that arrived after the deletion of their topic."""
    simulation.request(tools.CleanUnusedTopic())
    simulation.side.clean_unused_topics()


def delete_files(simulation: "AllOperations", action: "Action") -> None:
    """Request the deletion of expired files: the log has none."""
    simulation.request(cluster.DeleteExpiredCommitLog())


def roll_back_pops(simulation: "AllOperations", action: "Action") -> None:
    """Convert the records of pops to check points; brokers without records have none.

    With records, most receipt handles lose their message. The model does not know which, so nothing is sent.
    """
    if not simulation.setup.configs()[0].pop_consumer_kv_service_enable:
        _without_effect(consume.RollBackPops())(simulation, action)


def _without_effect(operation: Operation) -> Change:
    def request(simulation: "AllOperations", action: "Action") -> None:
        before = simulation.digest()
        simulation.request(operation)
        simulation.compare(before, operation)

    return request


SIDE_CLIENTS: dict[type[Operation], Change] = {
    SendReplyMessage: reply,
    consume.BatchAckMessage: batch_ack,
    ClientResponded: respond,
    DropInactiveRequests: drop_inactive,
    ResumeCheckHalfMessage: resume_check,
    consume.RollBackPops: roll_back_pops,
    cluster.CleanExpiredConsumeQueue: _without_effect(cluster.CleanExpiredConsumeQueue()),
    tools.CleanUnusedTopic: clean_unused_topics,
    cluster.DeleteExpiredCommitLog: delete_files,
    SendMessage: send,
    consume.PullMessage: pull,
    UpdateConsumerOffset: commit,
    consume.PopMessage: pop,
    consume.AckMessage: ack,
}
"""Operations on the topics of administrators, and those of tools and of the client that listens."""
