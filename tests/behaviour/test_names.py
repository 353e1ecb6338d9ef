"""Names of topics, groups, tags and properties that the broker rejects, and those that only the proxy rejects."""

import pytest
from protocol_client import ProtocolClient
from protocol_clients import ALL, through

NO_GROUP = "subscription group [{}] does not exist"
TOPICS = {
    "a b": (
        (29, "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        (40002, "The specified topic[a b] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
    ),
    "a" * 128: (
        (29, "The specified topic is longer than topic max length."),
        (40002, "The specified topic is longer than topic max length 127."),
    ),
    "SCHEDULE_TOPIC_XXXX": (
        (16, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."),
        (40002, "cannot access system topic"),
    ),
}
GROUPS = {
    "a b": (40003, "the specified group[a b] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
    "a" * 256: (40003, "the specified group is longer than group max length 255."),
}
REJECTED_BY_PROXY = {
    "a tag of a blank": ({"tag": " "}, 40004, "tag cannot be the char sequence of whitespace"),
    "a tag with a bar": ({"tag": "a|b"}, 40004, "tag cannot contain '|'"),
    "a name that the system uses": ({"TIMER_OUT_MS": "1"}, 40007, "property is used by system: TIMER_OUT_MS"),
    "a control character": ({"p": "a\x05b"}, 40007, "the value of property cannot contain control character"),
    "too many": ({f"p{number}": "v" for number in range(129)}, 43101, "too many user properties, max is 128"),
}


@pytest.mark.parametrize("topic", TOPICS)
@through(*ALL)
def test_a_send_to_an_invalid_or_system_topic_is_rejected(e: ProtocolClient, topic: str) -> None:
    """A send to a topic with an invalid or system name is rejected, and no topic is created."""
    before = e.state()
    sent = e.put(topic=topic)
    assert e.is_error(sent, *TOPICS[topic]), sent
    assert e.state() == before


@pytest.mark.parametrize("group", GROUPS)
@through(*ALL)
def test_a_pop_of_a_group_with_an_invalid_name_is_rejected(e: ProtocolClient, group: str) -> None:
    """A pop of a group with an invalid name is rejected, and the group is not created.

    The broker reports that the group does not exist; the proxy reports what is wrong with the name.
    """
    e.fill_topic(1)
    before = e.broker.groups.table.keys() | set()
    response = e.pop(group=group).response
    assert e.is_error(response, (26, NO_GROUP.format(group)), GROUPS[group]), response
    assert e.broker.groups.table.keys() == before
    assert e.bodies() == [b"0"]


@pytest.mark.parametrize("what", REJECTED_BY_PROXY)
@through(*ALL)
def test_only_the_proxy_rejects_invalid_tags_and_properties(e: ProtocolClient, what: str) -> None:
    """The proxy rejects invalid tags and properties; the broker stores them unchecked."""
    given, code, remark = REJECTED_BY_PROXY[what]
    e.topic()
    sent = e.put(**given)  # type: ignore[arg-type]  # tags and properties are strings
    if e.proxied:
        assert (sent.code, sent.remark) == (code, remark)
        assert e.records("T") == []
    else:
        assert sent.ok, sent
        assert len(e.records("T")) == 1
