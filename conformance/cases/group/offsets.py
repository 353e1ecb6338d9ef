"""Offsets of queues and groups: queries, searches by time, commits, resets and clones."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext, reply_to


def _of_queue(t: RemotingContext, code: int, topic: str, queue: int = 0, **fields: object) -> DecodedResponse:
    return t.request(code, {"topic": topic, "queueId": queue, **fields})


def _reset(t: RemotingContext, topic: str, group: str, timestamp: int, **fields: object) -> DecodedResponse:
    ext = {"topic": topic, "group": group, "timestamp": timestamp, "isForce": True, **fields}
    return t.request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext)


@remoting_case("AdminBrokerProcessor.getMaxOffset")
def min_offset_is_0_and_max_offset_is_that_of_the_next_message(t: RemotingContext) -> None:
    """A queue's minimum offset is 0, and its maximum is the next message's offset."""
    topic = t.topic(queues=2)
    t.sent(topic, 3)
    for queue in (0, 1):
        t.note(f"max of queue {queue}", _of_queue(t, RequestCode.GET_MAX_OFFSET, topic, queue), 0)
        t.note(f"min of queue {queue}", _of_queue(t, RequestCode.GET_MIN_OFFSET, topic, queue), 0)
        t.note(f"earliest of queue {queue}", _of_queue(t, RequestCode.GET_EARLIEST_MSG_STORETIME, topic, queue), 0)


@remoting_case("AdminBrokerProcessor.getMaxOffset")
def offsets_of_unknown_topics_or_queues_are_0(t: RemotingContext) -> None:
    """For an unknown topic or queue the offsets are 0 and the timestamp is -1."""
    for topic, queue in ((t.new(), 0), (t.topic(queues=1), 9)):
        t.note(f"max of queue {queue}", _of_queue(t, RequestCode.GET_MAX_OFFSET, topic, queue), 0)
        t.note(f"min of queue {queue}", _of_queue(t, RequestCode.GET_MIN_OFFSET, topic, queue), 0)
        t.note(f"earliest of queue {queue}", _of_queue(t, RequestCode.GET_EARLIEST_MSG_STORETIME, topic, queue), 0)
        t.note(
            f"search in queue {queue}",
            _of_queue(t, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, topic, queue, timestamp=0),
            0,
        )


@remoting_case("AdminBrokerProcessor.getMaxOffset")
def an_offset_request_without_a_valid_queue_id_is_rejected(t: RemotingContext) -> None:
    """An offset request without a queue id or with a non-numeric one fails."""
    topic = t.topic(queues=1)
    t.note("no queue", t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic}), 1)
    t.note("queue x", t.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": "x"}), 1)


@remoting_case("AdminBrokerProcessor.getEarliestMsgStoretime")
def the_earliest_time_is_that_of_the_first_message(t: RemotingContext) -> None:
    """The earliest store time of a queue is the store time of its first message."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    first = t.pull(topic, group).messages[0]
    earliest = _of_queue(t, RequestCode.GET_EARLIEST_MSG_STORETIME, topic)
    t.note("the same", earliest["timestamp"] == str(first.store_timestamp))


def _sent_apart(t: RemotingContext) -> tuple[str, str]:
    """Create a topic with three messages stored at different times, and a group."""
    topic, group = t.topic(queues=1), t.group()
    for _ in range(3):
        t.sent(topic, 1)
        t.wait(0.05)
    return topic, group


@remoting_case("ConsumeQueue.getOffsetInQueueByTime")
def offsets_are_searched_by_store_time(t: RemotingContext) -> None:
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
        t.note(
            f"boundary {boundary}", {name: response["offset"] for name, response in zip(moments, found, strict=True)}
        )


@remoting_case("AdminBrokerProcessor.searchOffsetByTimestamp")
def a_time_search_in_an_empty_queue_returns_offset_0(t: RemotingContext) -> None:
    """A search in an empty queue returns offset 0 for any time and boundary."""
    topic = t.topic(queues=1)
    for boundary in ("LOWER", "UPPER"):
        for timestamp in (-1, 0, t.now_ms()):
            response = _of_queue(
                t, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, topic, timestamp=timestamp, boundaryType=boundary
            )
            t.note(f"{boundary}", response, 0)


@remoting_case("ConsumerManageProcessor.queryConsumerOffset")
def a_missing_committed_offset_is_0_or_query_not_found(t: RemotingContext) -> None:
    """A group without a committed offset gets 0 if the queue's first message is in memory, else QUERY_NOT_FOUND."""
    topic, group = t.topic(queues=2), t.new("group")
    t.sent(topic, 2)
    t.note("a queue with messages", t.committed(topic, group), 0)
    t.note("an empty queue", t.committed(topic, group, 1), 22)
    t.note("a queue that is not there", t.committed(topic, group, 9), 22)
    t.note("an unknown topic", t.committed(t.new(), group), 22)
    t.note("not set to zero", t.committed(topic, group, setZeroIfNotFound=False), 22)


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def a_committed_offset_is_stored(t: RemotingContext) -> None:
    """A commit stores any offset, also backwards or beyond the queue; a negative one counts as none."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    for offset in (3, 1, 100, -1, 0):
        t.note(f"commit {offset}", t.commit(topic, group, offset), 0)
        t.note(f"after {offset}", t.committed(topic, group))


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def a_commit_for_an_unknown_queue_id_is_accepted(t: RemotingContext) -> None:
    """A commit for a queue id that the topic does not have is accepted."""
    topic, group = t.topic(queues=1), t.group()
    t.note("commit", t.commit(topic, group, 5, queue=9), 0)
    t.note("stored", t.committed(topic, group, 9), 0)


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def commits_of_unknown_names_are_refused(t: RemotingContext) -> None:
    """A commit for an unknown group or topic is rejected and creates neither."""
    topic, group = t.topic(queues=1), t.group()
    t.note("unknown group", t.commit(topic, t.new("group"), 1), 26)
    t.note("unknown topic", t.commit(t.new(), group, 1), 17)
    t.note("both unknown", t.commit(t.new(), t.new("group"), 1))


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def commits_without_queue_id_or_offset_are_rejected(t: RemotingContext) -> None:
    """A commit without queue id or offset is an invalid parameter."""
    topic, group = t.topic(queues=1), t.group()
    t.note("no queue", t.commit(topic, group, 1, queue=None), 29)
    t.note("no offset", t.commit(topic, group, None), 29)
    t.note("queue x", t.commit(topic, group, 1, queue="x"))


@remoting_case("AdminBrokerProcessor.resetOffset")
def the_next_pull_after_a_reset_returns_the_new_offset_once(t: RemotingContext) -> None:
    """After an offset reset the next pull of the group returns the new offset once; commits before it are ignored."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 5)
    t.commit(topic, group, 4)
    t.note("reset", _reset(t, topic, group, 0), 0)
    t.note("committed", t.committed(topic, group), 0)
    progress = t.request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic})
    t.note("progress", [queue["consumerOffset"] for queue in progress.json["offsetTable"].values()])
    t.note("commit", t.commit(topic, group, 4), 0)
    t.note("committed after the commit", t.committed(topic, group), 0)
    t.note("pulled", t.pull(topic, group, offset=4), 21)
    t.note("pulled again", t.pull(topic, group, offset=4).bodies)
    t.note("commit after the pull", t.commit(topic, group, 4), 0)
    t.note("committed after the pull", t.committed(topic, group), 0)


@remoting_case("AdminBrokerProcessor.resetOffset")
def a_reset_accepts_a_time_the_end_or_an_offset_of_the_queue(t: RemotingContext) -> None:
    """A reset accepts a time, -1 for the end, or an offset from the queue's minimum to one after its end."""
    topic, group = _sent_apart(t)
    second = t.pull(topic, group, offset=1).messages[0].store_timestamp
    t.note("to the second message", _reset(t, topic, group, second), 0)
    t.note("to the end", _reset(t, topic, group, -1), 0)
    t.note("to a time to come", _reset(t, topic, group, t.now_ms() + 3_600_000), 0)
    t.note("to offset 1", _reset(t, topic, group, 0, queueId=0, offset=1), 0)
    t.note("to the offset after the end", _reset(t, topic, group, 0, queueId=0, offset=4), 0)
    t.note("further", _reset(t, topic, group, 0, queueId=0, offset=5), 1)
    t.note("to an offset below", _reset(t, topic, group, 0, queueId=0, offset=-5))
    t.note("of a queue that is not there", _reset(t, topic, group, 0, queueId=9, offset=0))


@remoting_case("AdminBrokerProcessor.resetOffset")
def a_reset_without_a_queue_id_resets_all_queues(t: RemotingContext) -> None:
    """A reset without a queue id resets all queues, including empty ones; with a queue id only that one."""
    topic, group = t.topic(queues=2), t.group()
    t.sent(topic, 2)
    t.note("all", _reset(t, topic, group, -1), 0)
    t.note("queue 0", t.committed(topic, group), 0)
    t.note("queue 1", t.committed(topic, group, 1), 0)
    t.note("one", _reset(t, topic, group, 0, queueId=0), 0)
    t.note("queue 0 then", t.committed(topic, group), 0)


@remoting_case("AdminBrokerProcessor.resetOffset")
def a_reset_of_unknown_names_is_refused(t: RemotingContext) -> None:
    """A reset for an unknown topic or group is rejected."""
    topic, group = t.topic(queues=1), t.group()
    t.note("unknown topic", _reset(t, t.new(), group, 0), 17)
    t.note("unknown group", _reset(t, topic, t.new("group"), 0, queueId=0, offset=0), 26)


@remoting_case("AdminBrokerProcessor.cloneGroupOffset")
def offsets_are_cloned(t: RemotingContext) -> None:
    """CLONE_GROUP_OFFSET copies the offsets of a topic from one group to another."""
    topic, source, copy = t.topic(queues=2), t.group(), t.group()
    t.sent(topic, 3)
    t.commit(topic, source, 2)
    t.commit(topic, source, 0, queue=1)
    ext = {"srcGroup": source, "destGroup": copy, "topic": topic, "offline": False}
    t.note("clone", t.request(RequestCode.CLONE_GROUP_OFFSET, ext), 0)
    t.note("queue 0", t.committed(topic, copy), 0)
    t.note("queue 1", t.committed(topic, copy, 1), 0)


@remoting_case("AdminBrokerProcessor.cloneGroupOffset")
def cloning_offsets_of_unknown_groups_or_topics_succeeds(t: RemotingContext) -> None:
    """Cloning the offsets of a group without offsets or of an unknown topic succeeds."""
    topic = t.topic(queues=1)
    for asked in (topic, t.new()):
        ext = {"srcGroup": t.new("group"), "destGroup": t.new("group"), "topic": asked, "offline": False}
        t.note("clone", t.request(RequestCode.CLONE_GROUP_OFFSET, ext), 0)


@remoting_case("AdminBrokerProcessor.queryCorrectionOffset")
def a_correction_query_returns_the_smallest_offset_of_any_group(t: RemotingContext) -> None:
    """A correction query returns the smallest offset of any group in each queue."""
    topic, first, second, compared = t.topic(queues=2), t.group(), t.group(), t.group()
    t.sent(topic, 5)
    t.commit(topic, first, 4)
    t.commit(topic, second, 2)
    t.commit(topic, compared, 1)
    ext = {"topic": topic, "compareGroup": compared, "filterGroups": ""}
    t.note("found", t.request(RequestCode.QUERY_CORRECTION_OFFSET, ext))


@remoting_case("ConsumerOffsetManager.queryMinOffsetInAllGroup")
def a_correction_query_deletes_offsets_of_filtered_groups(t: RemotingContext) -> None:
    """A correction query deletes the offsets of filtered groups.

    For a compared group below the minimum it returns 2^63 - 1.
    """
    topic, slow, left_out, compared = t.topic(queues=2), t.group(), t.group(), t.group()
    t.sent(topic, 5)
    t.commit(topic, slow, 3)
    t.commit(topic, left_out, 1)
    t.commit(topic, compared, 2)
    ext = {"topic": topic, "compareGroup": compared, "filterGroups": left_out}
    t.note("found", t.request(RequestCode.QUERY_CORRECTION_OFFSET, ext), 0)
    t.note(
        "left out",
        t.request(RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": left_out, "topic": topic, "queueId": 0}),
    )
    t.note("unknown group", t.request(RequestCode.QUERY_CORRECTION_OFFSET, {**ext, "compareGroup": t.new("group")}), 0)
    t.note("unknown topic", t.request(RequestCode.QUERY_CORRECTION_OFFSET, {**ext, "topic": t.new()}), 0)
    t.commit(topic, compared, 9, queue=1)
    t.note("offset beyond the end", t.request(RequestCode.QUERY_CORRECTION_OFFSET, ext), 0)


@remoting_case("ConsumerOffsetManager.cleanOffsetByTopic, ConsumerOffsetManager.queryMinOffsetInAllGroup")
def a_pending_reset_outlives_its_topic_and_a_correction_query(t: RemotingContext) -> None:
    """A pending reset stays if the topic is deleted and created again, or if a correction query filters the group."""
    topic, group, left_out = t.topic(queues=1), t.group(), t.group()
    t.sent(topic, 3)
    for name in (group, left_out):
        t.note("reset", _reset(t, topic, name, 0, queueId=0, offset=1), 0)
    ext = {"topic": topic, "compareGroup": t.new("group"), "filterGroups": left_out}
    t.note("query", t.request(RequestCode.QUERY_CORRECTION_OFFSET, ext), 0)
    t.note("offset after the query", t.committed(topic, left_out))
    t.note("deleted", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 0)
    t.topic(name=topic, queues=1)
    for name in (group, left_out):
        t.note("offset in the new topic", t.committed(topic, name))
        t.note("pulled", t.pull(topic, name))
        t.note("offset after the pull", t.committed(topic, name))


@remoting_case("AdminBrokerProcessor.getAllConsumerOffset")
def all_offsets_can_be_listed(t: RemotingContext) -> None:
    """GET_ALL_CONSUMER_OFFSET returns the committed offsets by topic and group."""
    topic, group = t.topic(queues=2), t.group()
    t.sent(topic, 3)
    t.commit(topic, group, 2)
    t.commit(topic, group, 7, queue=1)
    response = t.request(RequestCode.GET_ALL_CONSUMER_OFFSET)
    t.note("listed", response.json["offsetTable"].get(f"{topic}@{group}"))


@remoting_case("ConsumerManageProcessor.updateConsumerOffset")
def a_oneway_commit_is_kept(t: RemotingContext) -> None:
    """A oneway commit is stored and gets no response."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 3)
    connection = t.connect()
    fields = {"consumerGroup": group, "topic": topic, "queueId": 0, "commitOffset": 2}
    connection.oneway(RequestCode.UPDATE_CONSUMER_OFFSET, fields)
    t.note("response", reply_to(connection, 1))
    t.note("stored", t.until(lambda: t.committed(topic, group)["offset"] == "2"))
