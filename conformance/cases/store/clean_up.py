"""Deleted files of the commit log, and the offsets, handles and keys of their messages.

A broker starts to check for deletable files one minute after its start. A file has ten of these messages: 25 messages
fill two files, and the rest is in the last one.
"""

from collections.abc import Mapping
from typing import Any

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.case_context import CaseContext
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.consumer import consuming
from ...helpers.disk import CAN_BE_FULL
from ...helpers.pops import PopGroup

SMALL_FILES: Mapping[str, str] = {
    "mappedFileSizeCommitLog": "1048576",
    "maxMessageSize": "131072",
    "cleanResourceInterval": "1000",
    "deleteWhen": "24",  # no hour of the day
    "fileReservedTime": "0",
}
"""Settings of a broker that deletes all full files, but only on request."""
KEPT_FOR_AN_HOUR: Mapping[str, str] = {**SMALL_FILES, "fileReservedTime": "1"}
"""Settings of a broker that keeps files for one hour."""

HALF_FULL_DISK: Mapping[str, str] = {**SMALL_FILES, "diskUsedRatio": "50", "diskMaxUsedSpaceRatio": "90"}
"""Settings of a broker whose disk is half full, which has no effect yet."""

BEFORE_THE_FIRST_LOOK_SECONDS = 65
LONG_MS = 3_600_000
MESSAGES = 25
KEPT = 20
"""Offset of the first message in the last file."""
_FILLER = "x" * 100_000


def min_offset(t: CaseContext, topic: str, queue: int = 0) -> int:
    """Return a queue's minimum offset."""
    return int(t.request(RequestCode.GET_MIN_OFFSET, {"topic": topic, "queueId": queue})["offset"])


def fill(t: RemotingContext, topic: str) -> list[DecodedResponse]:
    """Send messages of 100 kB that start with `m0`, `m1`, ..., with the keys `k0`, `k1`, ..."""
    sends = (t.send(topic, f"m{number} {_FILLER}", keys=f"k{number}") for number in range(MESSAGES))
    return t.readable(topic, *sends)


def words(messages: list[ReceivedMessage]) -> list[str]:
    """Return the first word of each body."""
    return [message.body.partition(b" ")[0].decode() for message in messages]


def delete_files(t: CaseContext) -> DecodedResponse:
    """Request the deletion of files."""
    return t.request(RequestCode.DELETE_EXPIRED_COMMITLOG, {})


def delete_and_wait(t: CaseContext, topic: str) -> None:
    """Request the deletion of files, and return when the first messages of a topic are deleted."""
    t.require(delete_files(t).code == 0, "the request to delete files was rejected")
    t.wait(BEFORE_THE_FIRST_LOOK_SECONDS)
    t.require(t.until(lambda: min_offset(t, topic) == KEPT), f"no file was deleted: {min_offset(t, topic)}")


@remoting_case("DefaultMessageStore.CleanCommitLogService.deleteExpiredFiles", settings=KEPT_FOR_AN_HOUR, alone=True)
def a_deletion_request_deletes_only_expired_full_commit_log_files(t: RemotingContext) -> None:
    """On request a broker deletes files that are old enough, except the last one.

    Their messages are not found any more.
    """
    topic, group = t.topic(queues=1), t.group()
    sends = fill(t, topic)
    t.commit(topic, group, 5)
    t.note("requested", delete_files(t), 0)
    t.wait(BEFORE_THE_FIRST_LOOK_SECONDS)
    t.note("not yet old enough", min_offset(t, topic))
    t.require(t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, b"fileReservedTime=0").code == 0, "no key was set")
    # One request covers only 20 checks, and a slow broker started them long before the case.
    t.require(delete_files(t).code == 0, "the second request was rejected")
    t.until(lambda: min_offset(t, topic))
    t.wait(2)
    t.note("extent", [min_offset(t, topic), t.max_offset(topic)])
    for offset in (0, 5, KEPT - 1, KEPT):
        response = t.pull(topic, t.group(), offset=offset)
        t.note(f"pull at {offset}", [response.code, response.remark, response.fields, words(response.messages)])
    for number in (0, KEPT - 1, KEPT):
        viewed = t.view(sends[number].place)
        t.note(f"view of m{number}", [viewed.code, words(viewed.messages) if viewed.code == 0 else []])
        found = t.query(topic, f"k{number}")
        t.note(f"query of k{number}", [found.code, words(found.messages) if found.code == 0 else []])
    at = {"topic": topic, "queueId": 0}
    first = t.pull(topic, t.group(), offset=KEPT, max_messages=1).messages[0]
    earliest = int(t.request(RequestCode.GET_EARLIEST_MSG_STORETIME, at)["timestamp"])
    t.note("the earliest is the first that is kept", earliest == first.store_timestamp)
    t.note("search", t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**at, "timestamp": 1}))
    t.note("committed", t.committed(topic, group))
    t.note("committed by none", t.committed(topic, t.group()))
    statistics = t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).json["offsetTable"]
    t.note("statistics", [[each["minOffset"], each["maxOffset"]] for each in statistics.values()])
    consumed = t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic}).json["offsetTable"]
    t.note("consumed", [[each["consumerOffset"], each["brokerOffset"]] for each in consumed.values()])
    t.note("unit", t.request(RequestCode.QUERY_CONSUME_QUEUE, {**at, "index": 0, "count": 1}))


def _change(t: CaseContext, text: str) -> None:
    changed = t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, text.encode())
    t.require(changed.code == 0, f"{text} was not set: {changed}")


def _deleted_from_then_on(t: RemotingContext, text: str) -> None:
    """Record that no file is deleted before a setting changes, and which files are deleted then."""
    topic = t.topic(queues=1)
    fill(t, topic)
    t.wait(BEFORE_THE_FIRST_LOOK_SECONDS)
    t.note("before", [min_offset(t, topic), t.max_offset(topic)])
    _change(t, text)
    t.until(lambda: min_offset(t, topic))
    t.wait(2)
    t.note("then", [min_offset(t, topic), t.max_offset(topic)])


@remoting_case("CleanCommitLogService.isTimeToDelete", settings=SMALL_FILES, alone=True)
def expired_files_are_deleted_at_the_hours_in_delete_when(t: RemotingContext) -> None:
    """At the hours in deleteWhen, separated by semicolons, a broker deletes files without a request."""
    _deleted_from_then_on(t, "deleteWhen=" + ";".join(f"{hour:02}" for hour in range(24)))


@remoting_case("CleanCommitLogService.isSpaceToDelete", needs=CAN_BE_FULL, settings=HALF_FULL_DISK, alone=True)
def expired_files_are_deleted_above_disk_max_used_space_ratio(t: RemotingContext) -> None:
    """Above diskMaxUsedSpaceRatio a broker deletes files that are old enough at any hour."""
    _deleted_from_then_on(t, "diskMaxUsedSpaceRatio=20")


@remoting_case(
    "CleanCommitLogService.deleteExpiredFiles",
    needs=CAN_BE_FULL,
    settings={**HALF_FULL_DISK, "fileReservedTime": "48"},
    alone=True,
)
def files_of_any_age_are_deleted_above_the_forcible_clean_ratio(t: RemotingContext) -> None:
    """Above diskSpaceCleanForciblyRatio a broker deletes files of any age, unless cleanFileForciblyEnable is off."""
    _change(t, "cleanFileForciblyEnable=false")
    _change(t, "diskMaxUsedSpaceRatio=20\ndiskSpaceCleanForciblyRatio=30")
    _deleted_from_then_on(t, "cleanFileForciblyEnable=true")


@remoting_case("PopMessageProcessor.popMsgFromQueue", settings=SMALL_FILES, alone=True)
def pops_skip_deleted_messages_and_do_not_redeliver_them(t: RemotingContext) -> None:
    """A group whose next message is deleted pops the first remaining one.

    Its deleted messages in flight are not redelivered.
    """
    group = PopGroup(t, t.topic(queues=1), t.group())
    in_order = group.with_group(t.group(consumeMessageOrderly=True))
    fill(t, group.topic)
    popped = t.popped(group.pop(max_messages=2, invisible_ms=90_000))
    ordered = t.popped(in_order.pop_in_order(2, invisible_ms=90_000))
    watch = t.stopwatch()
    t.note("popped", [words([message for message, _ in each]) for each in (popped, ordered)])
    delete_and_wait(t, group.topic)
    (_, one), (_, two) = popped
    t.note("acknowledged", group.ack(one, 0))
    t.note("prolonged", group.change(two, 1, 20_000).without("popTime"))
    t.note("a new group", words(group.with_group(t.group()).pop(max_messages=2).messages))
    t.note("pop", words(group.pop(max_messages=2, invisible_ms=LONG_MS).messages))
    t.note("pop in order, one batch out", words(in_order.pop_in_order(2).messages))
    (_, first), (_, second) = ordered
    t.note("acknowledged in order", [in_order.ack(first, 0), in_order.ack(second, 1)])
    t.note("pop in order", words(in_order.pop_in_order(2, invisible_ms=LONG_MS).messages))
    t.require(watch.seconds < 90, "the invisible times have ended too early")
    t.wait(45)
    t.note("came back", group.count_copies())
    t.note("pop again", words(group.pop(max_messages=2, invisible_ms=LONG_MS).messages))


@grpc_case("PopMessageProcessor.popMsgFromQueue", settings=SMALL_FILES, alone=True)
def receives_skip_deleted_messages_and_their_handles_are_rejected(t: GrpcContext) -> None:
    """A consumer whose next message is deleted receives the first remaining one.

    Handles of deleted messages are rejected.
    """
    consumer = consuming(t)
    for number in range(MESSAGES):
        t.require(t.send(consumer.message(f"m{number} {_FILLER}")).status.code == pb.OK, "a message was not stored")
    handles = [consumer.handle(invisible_s=300) for _ in range(3)]
    delete_and_wait(t, consumer.topic)
    t.note("acknowledged", consumer.ack(handles[0]))
    t.note("prolonged", _code(consumer.change(handles[1], 300)))
    t.note("to the dead letter queue", _code(consumer.forward(handles[2])))
    received = consumer.receive(max_messages=2, invisible_s=300)
    t.note("received", [received.code, [body.partition(b" ")[0].decode() for body in received.bodies]])


@remoting_case("ConsumeQueueStore.cleanExpired", settings=SMALL_FILES, alone=True)
def clean_expired_consume_queue_resets_fully_deleted_queues_to_0(t: RemotingContext) -> None:
    """CLEAN_EXPIRED_CONSUMEQUEUE removes queues without remaining messages, which restart at 0.

    Other queues are unchanged.
    """
    old, group, other = t.topic(queues=2), t.group(), t.topic(queues=1)
    t.sent(old, 3)
    t.commit(old, group, 2)
    fill(t, other)
    t.note("requested too early", t.request(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, {}), 0)
    t.note("extent", [min_offset(t, old), t.max_offset(old)])
    delete_and_wait(t, other)
    t.note("extent of the deleted", [min_offset(t, old), t.max_offset(old)])
    t.note("pull of the deleted", t.pull(old, t.group(), offset=1))
    t.note("requested", t.request(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, {}), 0)
    t.note("extent of the forgotten", [min_offset(t, old), t.max_offset(old)])
    t.note("extent of the other", [min_offset(t, other), t.max_offset(other)])
    t.note("pull of the forgotten", t.pull(old, t.group(), offset=1))
    t.note("committed", t.committed(old, group))
    sent = t.send(old, "new")
    t.note("sent", [sent.code, sent["queueOffset"]])
    t.until(lambda: t.max_offset(old) == int(sent["queueOffset"]) + 1)
    t.note("extent of the new", [min_offset(t, old), t.max_offset(old)])
    t.note("pull of the new", words(t.pull(old, t.group(), offset=min_offset(t, old)).messages))


def _code(response: Any) -> Any:
    return getattr(getattr(response, "status", None), "code", response)
