"""Offsets of queues and groups: queries, searches by time, commits, resets and clones."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting, reply_to


def _of_queue(t: Remoting, code: int, topic: str, queue: int = 0, **fields: object) -> Answer:
    return t.ask(code, {"topic": topic, "queueId": queue, **fields})


def _reset(t: Remoting, topic: str, group: str, timestamp: int, **fields: object) -> Answer:
    ext = {"topic": topic, "group": group, "timestamp": timestamp, "isForce": True, **fields}
    return t.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext)


@remoting_case("AdminBrokerProcessor.getMaxOffset")
def a_queue_tells_its_bounds(t: Remoting) -> None:
    """A queue's minimum offset is 0, and its maximum is the next message's offset."""
    topic = t.topic(queues=2)
    t.sent(topic, 3)
    for queue in (0, 1):
        t.see(f"max of queue {queue}", _of_queue(t, RequestCode.GET_MAX_OFFSET, topic, queue), 0)
        t.see(f"min of queue {queue}", _of_queue(t, RequestCode.GET_MIN_OFFSET, topic, queue), 0)
        t.see(f"earliest of queue {queue}", _of_queue(t, RequestCode.GET_EARLIEST_MSG_STORETIME, topic, queue), 0)


@remoting_case("AdminBrokerProcessor.getMaxOffset")
def the_bounds_of_what_is_not_there_are_0(t: Remoting) -> None:
    """For an unknown topic or queue the offsets are 0 and the timestamp is -1."""
    for topic, queue in ((t.new(), 0), (t.topic(queues=1), 9)):
        t.see(f"max of queue {queue}", _of_queue(t, RequestCode.GET_MAX_OFFSET, topic, queue), 0)
        t.see(f"min of queue {queue}", _of_queue(t, RequestCode.GET_MIN_OFFSET, topic, queue), 0)
        t.see(f"earliest of queue {queue}", _of_queue(t, RequestCode.GET_EARLIEST_MSG_STORETIME, topic, queue), 0)
        t.see(
            f"search in queue {queue}",
            _of_queue(t, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, topic, queue, timestamp=0),
            0,
        )


@remoting_case("AdminBrokerProcessor.getMaxOffset")
def a_queue_must_be_named(t: Remoting) -> None:
    """An offset request without a queue id or with a non-numeric one fails."""
    topic = t.topic(queues=1)
    t.see("no queue", t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic}), 1)
    t.see("queue x", t.ask(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": "x"}), 1)


@remoting_case("AdminBrokerProcessor.getEarliestMsgStoretime")
def the_earliest_time_is_that_of_the_first_message(t: Remoting) -> None:
    """The earliest store time of a queue is the store time of its first message."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    first = t.pull(topic, group).messages[0]
    earliest = _of_queue(t, RequestCode.GET_EARLIEST_MSG_STORETIME, topic)
    t.see("the same", earliest["timestamp"] == str(first.store_timestamp))


def _sent_apart(t: Remoting) -> tuple[str, str]:
    """Create a topic with three messages stored at different times, and a group."""
    topic, group = t.topic(queues=1), t.group()
    for _ in range(3):
        t.sent(topic, 1)
        t.wait(0.05)
    return topic, group


@remoting_case("ConsumeQueue.getOffsetInQueueByTime")
def offsets_are_searched_by_store_time(t: Remoting) -> None:
    """A search with LOWER, the default, finds the first message at or after a time; UPPER finds the last up to it."""
    topic, group = _sent_apart(t)
    times = [message.store_timestamp for message in t.pull(topic, group).messages]
    moments = {
        "1 ms": 1,
        "before the first": times[0] - 1,
        "at the first": times[0],
        "at the second": times[1],
        "after the second": times[1] + 1,
        "before the third": times[2] - 1,
        "at the last": times[2],
        "after the last": times[2] + 1,
        "in an hour": times[2] + 3_600_000,
    }
    for boundary in (None, "LOWER", "UPPER", "upper", "odd"):
        found = [
            _of_queue(t, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, topic, timestamp=moment, boundaryType=boundary)
            for moment in moments.values()
        ]
        t.see(f"boundary {boundary}", {name: answer["offset"] for name, answer in zip(moments, found, strict=True)})


@remoting_case("AdminBrokerProcessor.searchOffsetByTimestamp")
def an_empty_queue_is_searched_in_vain(t: Remoting) -> None:
    """A search in an empty queue returns offset 0 for any time and boundary."""
    topic = t.topic(queues=1)
    for boundary in ("LOWER", "UPPER"):
        for timestamp in (-1, 0, t.now_ms()):
            answer = _of_queue(
                t, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, topic, timestamp=timestamp, boundaryType=boundary
            )
            t.see(f"{boundary}", answer, 0)


@remoting_case("ConsumerManageProcessor.queryConsumerOffset")
def a_group_without_an_offset_begins_at_0_or_nowhere(t: Remoting) -> None:
    """A group without a committed offset gets 0 if the queue's first message is in memory, else QUERY_NOT_FOUND."""
    topic, group = t.topic(queues=2), t.new("group")
    t.sent(topic, 2)
    t.see("a queue with messages", t.committed(topic, group), 0)
    t.see("an empty queue", t.committed(topic, group, 1), 22)
    t.see("a queue that is not there", t.committed(topic, group, 9), 22)
    t.see("an unknown topic", t.committed(t.new(), group), 22)
    t.see("not set to zero", t.committed(topic, group, setZeroIfNotFound=False), 22)


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def a_committed_offset_is_stored(t: Remoting) -> None:
    """A commit stores any offset, also backwards or beyond the queue; a negative one counts as none."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    for offset in (3, 1, 100, -1, 0):
        t.see(f"commit {offset}", t.commit(topic, group, offset), 0)
        t.see(f"after {offset}", t.committed(topic, group))


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def an_offset_of_a_queue_that_is_not_there_is_stored(t: Remoting) -> None:
    """A commit for a queue id that the topic does not have is accepted."""
    topic, group = t.topic(queues=1), t.group()
    t.see("commit", t.commit(topic, group, 5, queue=9), 0)
    t.see("stored", t.committed(topic, group, 9), 0)


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def commits_of_unknown_names_are_refused(t: Remoting) -> None:
    """A commit for an unknown group or topic is rejected and creates neither."""
    topic, group = t.topic(queues=1), t.group()
    t.see("unknown group", t.commit(topic, t.new("group"), 1), 26)
    t.see("unknown topic", t.commit(t.new(), group, 1), 17)
    t.see("both unknown", t.commit(t.new(), t.new("group"), 1))


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def commits_without_numbers_are_refused(t: Remoting) -> None:
    """A commit without queue id or offset is an invalid parameter."""
    topic, group = t.topic(queues=1), t.group()
    t.see("no queue", t.commit(topic, group, 1, queue=None), 29)
    t.see("no offset", t.commit(topic, group, None), 29)
    t.see("queue x", t.commit(topic, group, 1, queue="x"))


@remoting_case("AdminBrokerProcessor.resetOffset")
def a_reset_to_a_time_is_told_to_the_next_pull(t: Remoting) -> None:
    """After an offset reset the next pull of the group returns the new offset once; commits before it are ignored."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 5)
    t.commit(topic, group, 4)
    t.see("reset", _reset(t, topic, group, 0), 0)
    t.see("committed", t.committed(topic, group), 0)
    progress = t.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic})
    t.see("progress", [queue["consumerOffset"] for queue in progress.json["offsetTable"].values()])
    t.see("commit", t.commit(topic, group, 4), 0)
    t.see("committed after the commit", t.committed(topic, group), 0)
    t.see("pulled", t.pull(topic, group, offset=4), 21)
    t.see("pulled again", t.pull(topic, group, offset=4).bodies)
    t.see("commit after the pull", t.commit(topic, group, 4), 0)
    t.see("committed after the pull", t.committed(topic, group), 0)


@remoting_case("AdminBrokerProcessor.resetOffset")
def a_reset_finds_its_offset(t: Remoting) -> None:
    """A reset accepts a time, -1 for the end, or an offset from the queue's minimum to one after its end."""
    topic, group = _sent_apart(t)
    second = t.pull(topic, group, offset=1).messages[0].store_timestamp
    t.see("to the second message", _reset(t, topic, group, second), 0)
    t.see("to the end", _reset(t, topic, group, -1), 0)
    t.see("to a time to come", _reset(t, topic, group, t.now_ms() + 3_600_000), 0)
    t.see("to offset 1", _reset(t, topic, group, 0, queueId=0, offset=1), 0)
    t.see("to the offset after the end", _reset(t, topic, group, 0, queueId=0, offset=4), 0)
    t.see("further", _reset(t, topic, group, 0, queueId=0, offset=5), 1)
    t.see("to an offset below", _reset(t, topic, group, 0, queueId=0, offset=-5))
    t.see("of a queue that is not there", _reset(t, topic, group, 0, queueId=9, offset=0))


@remoting_case("AdminBrokerProcessor.resetOffset")
def a_reset_concerns_all_queues(t: Remoting) -> None:
    """A reset without a queue id resets all queues, including empty ones; with a queue id only that one."""
    topic, group = t.topic(queues=2), t.group()
    t.sent(topic, 2)
    t.see("all", _reset(t, topic, group, -1), 0)
    t.see("queue 0", t.committed(topic, group), 0)
    t.see("queue 1", t.committed(topic, group, 1), 0)
    t.see("one", _reset(t, topic, group, 0, queueId=0), 0)
    t.see("queue 0 then", t.committed(topic, group), 0)


@remoting_case("AdminBrokerProcessor.resetOffset")
def a_reset_of_unknown_names_is_refused(t: Remoting) -> None:
    """A reset for an unknown topic or group is rejected."""
    topic, group = t.topic(queues=1), t.group()
    t.see("unknown topic", _reset(t, t.new(), group, 0), 17)
    t.see("unknown group", _reset(t, topic, t.new("group"), 0, queueId=0, offset=0), 26)


@remoting_case("AdminBrokerProcessor.cloneGroupOffset")
def offsets_are_cloned(t: Remoting) -> None:
    """CLONE_GROUP_OFFSET copies the offsets of a topic from one group to another."""
    topic, source, copy = t.topic(queues=2), t.group(), t.group()
    t.sent(topic, 3)
    t.commit(topic, source, 2)
    t.commit(topic, source, 0, queue=1)
    ext = {"srcGroup": source, "destGroup": copy, "topic": topic, "offline": False}
    t.see("clone", t.ask(RequestCode.CLONE_GROUP_OFFSET, ext), 0)
    t.see("queue 0", t.committed(topic, copy), 0)
    t.see("queue 1", t.committed(topic, copy, 1), 0)


@remoting_case("AdminBrokerProcessor.cloneGroupOffset")
def cloning_what_is_not_there_succeeds(t: Remoting) -> None:
    """Cloning the offsets of a group without offsets or of an unknown topic succeeds."""
    topic = t.topic(queues=1)
    for asked in (topic, t.new()):
        ext = {"srcGroup": t.new("group"), "destGroup": t.new("group"), "topic": asked, "offline": False}
        t.see("clone", t.ask(RequestCode.CLONE_GROUP_OFFSET, ext), 0)


@remoting_case("AdminBrokerProcessor.queryCorrectionOffset")
def the_slowest_of_several_groups_is_found(t: Remoting) -> None:
    """A correction query returns the smallest offset of any group in each queue."""
    topic, first, second, compared = t.topic(queues=2), t.group(), t.group(), t.group()
    t.sent(topic, 5)
    t.commit(topic, first, 4)
    t.commit(topic, second, 2)
    t.commit(topic, compared, 1)
    ext = {"topic": topic, "compareGroup": compared, "filterGroups": ""}
    t.see("found", t.ask(RequestCode.QUERY_CORRECTION_OFFSET, ext))


@remoting_case("ConsumerOffsetManager.queryMinOffsetInAllGroup")
def a_group_that_is_left_out_loses_its_offsets(t: Remoting) -> None:
    """A correction query deletes the offsets of filtered groups.

    For a compared group below the minimum it returns 2^63 - 1.
    """
    topic, slow, left_out, compared = t.topic(queues=2), t.group(), t.group(), t.group()
    t.sent(topic, 5)
    t.commit(topic, slow, 3)
    t.commit(topic, left_out, 1)
    t.commit(topic, compared, 2)
    ext = {"topic": topic, "compareGroup": compared, "filterGroups": left_out}
    t.see("found", t.ask(RequestCode.QUERY_CORRECTION_OFFSET, ext), 0)
    t.see(
        "left out", t.ask(RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": left_out, "topic": topic, "queueId": 0})
    )
    t.see("unknown group", t.ask(RequestCode.QUERY_CORRECTION_OFFSET, {**ext, "compareGroup": t.new("group")}), 0)
    t.see("unknown topic", t.ask(RequestCode.QUERY_CORRECTION_OFFSET, {**ext, "topic": t.new()}), 0)
    t.commit(topic, compared, 9, queue=1)
    t.see("offset beyond the end", t.ask(RequestCode.QUERY_CORRECTION_OFFSET, ext), 0)


@remoting_case("AdminBrokerProcessor.getAllConsumerOffset")
def all_offsets_can_be_listed(t: Remoting) -> None:
    """GET_ALL_CONSUMER_OFFSET returns the committed offsets by topic and group."""
    topic, group = t.topic(queues=2), t.group()
    t.sent(topic, 3)
    t.commit(topic, group, 2)
    t.commit(topic, group, 7, queue=1)
    answer = t.ask(RequestCode.GET_ALL_CONSUMER_OFFSET)
    t.see("listed", answer.json["offsetTable"].get(f"{topic}@{group}"))


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def a_oneway_commit_is_kept(t: Remoting) -> None:
    """A oneway commit is stored and gets no response."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    connection = t.connect()
    fields = {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": 2}
    connection.oneway(RequestCode.UPDATE_CONSUMER_OFFSET, fields)
    t.see("answer", reply_to(connection, 1))
    t.see("stored", t.until(lambda: t.committed(topic, group)["offset"] == "2"))
