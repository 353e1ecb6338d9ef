"""Born hosts of copied messages, and the byte format of properties."""

from rocketmq_testkit.emulator.message.names import dlq_topic, retry_topic
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient
from rocketmq_testkit.remoting.client.messages import split_records

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.sends import send_back
from ...helpers.transactions import COMMIT, transacting


def _born_at(message: ReceivedMessage, ends: dict[str, RemotingClient]) -> str:
    """Return the connection that has a message's born host, `broker` for the broker, or `nobody` for another host."""
    if message.born_host == message.store_host:
        return "broker"
    return next((name for name, each in ends.items() if each.local_address[1] == message.born_host[1]), "nobody")


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack")
def retry_and_dlq_copies_keep_born_host_and_time(t: RemotingContext) -> None:
    """Copies in the retry topic and the dead letter queue have born host and born time of the original message."""
    topic, group = t.topic(queues=1), t.group()
    ends = {"producer": t.connect(), "consumer": t.connect()}
    [first] = t.readable(topic, t.send(topic, "m", to=ends["producer"]))
    [message] = t.stored(topic).messages
    t.note("sent", _born_at(message, ends))
    send_back(t, group, first.place, 1, to=ends["consumer"])
    [retry] = t.stored(retry_topic(group), seconds=15).messages
    t.note("in the retry topic", [_born_at(retry, ends), retry.born_timestamp == message.born_timestamp])
    send_back(t, group, first.place, -1, to=ends["consumer"])
    [dead] = t.stored(dlq_topic(group), seconds=5).messages
    t.note("in the dead letter queue", [_born_at(dead, ends), dead.born_timestamp == message.born_timestamp])


@remoting_case("ScheduleMessageService.messageTimeUp")
def delayed_timed_and_half_messages_keep_the_born_host(t: RemotingContext) -> None:
    """Delayed and timed messages keep their producer's born host, and so do half messages before and after commit."""
    ends = {"producer": t.connect(), "other": t.connect()}
    for label, properties in (("level", {"DELAY": "1"}), ("timer", {"TIMER_DELAY_MS": "1000"})):
        topic = t.topic(queues=1)
        t.send(topic, label, properties=properties, to=ends["producer"])
        [message] = t.stored(topic, seconds=15).messages
        t.note(label, _born_at(message, ends))
    producers = transacting(t)
    sent = producers.half(to=ends["producer"])
    t.note("half", _born_at(t.view(sent.place).messages[0], ends))
    producers.end(sent, COMMIT)
    [message] = t.stored(producers.topic, seconds=5).messages
    t.note("committed", _born_at(message, ends))


@remoting_case("MessageDecoder.messageProperties2String")
def stored_properties_end_with_a_separator(t: RemotingContext) -> None:
    """Stored properties are name and value pairs, each followed by its separator, including the last one."""
    topic, group = t.topic(queues=1), t.group()
    plain = t.send(topic, "m", tag="A", properties={"color": "red"})
    bare = t.send(topic, "bare", unique=False)
    t.readable(topic, plain, bare)
    send_back(t, group, plain.place, 1)
    t.stored(retry_topic(group), seconds=15)
    level = t.topic(queues=1)
    t.send(level, "level", properties={"DELAY": "1"})
    t.stored(level, seconds=15)
    for stored_topic in (topic, retry_topic(group), level):
        for each in split_records(t.pull(stored_topic, t.group()).body):
            record = decode(each)
            text, names = record.properties, sorted(record.property_map())
            t.note(record.body.decode(), [names, text.count("\x01"), text.count("\x02"), text[-1:] == "\x02"])
