"""The rights that each kind of request requires."""

import json
from collections.abc import Mapping

import pytest
from rocketmq_testkit.emulator.auth.access_control import AccessDenied
from rocketmq_testkit.remoting.processors import RIGHTS
from rocketmq_testkit.remoting.request.request_code import RequestCode

RETRY = "%RETRY%G"
Fields = Mapping[str, str]


def required_rights(code: int, ext: Fields, body: object = None) -> list[str]:
    """Return each required right as `resource: actions`."""
    content = b"" if body is None else json.dumps(body).encode()
    return [
        f"{need.resource.key}: {' '.join(action.value for action in need.actions)}"
        for need in RIGHTS[code](ext, content, "C")
    ]


CONSUMER = {"consumerGroup": "G"}


@pytest.mark.parametrize(
    ("code", "ext", "expected"),
    [
        (RequestCode.PULL_MESSAGE, {**CONSUMER, "topic": "T"}, ["Topic:T: Sub", "Group:G: Sub"]),
        (RequestCode.PULL_MESSAGE, {**CONSUMER, "topic": RETRY}, ["Group:G: Sub"]),
        (RequestCode.PULL_MESSAGE, CONSUMER, ["Topic:null: Sub", "Group:G: Sub"]),
        (RequestCode.QUERY_CONSUMER_OFFSET, {**CONSUMER, "topic": "T"}, ["Topic:T: Sub Get", "Group:G: Sub Get"]),
        (RequestCode.QUERY_CONSUMER_OFFSET, {**CONSUMER, "topic": RETRY}, ["Group:G: Sub Get"]),
        (RequestCode.UPDATE_CONSUMER_OFFSET, {"topic": "T"}, ["Topic:T: Sub Update", "Group:null: Sub Update"]),
        (RequestCode.UPDATE_CONSUMER_OFFSET, {"topic": RETRY}, ["Group:null: Sub Update"]),
        (RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}, ["Topic:T: Pub Sub Get"]),
        (RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": RETRY}, ["Group:G: Sub Get"]),
        (RequestCode.GET_ROUTEINFO_BY_TOPIC, {}, ["Topic:null: Pub Sub Get"]),
        (RequestCode.SEND_MESSAGE, {"topic": "T", "group": "P"}, ["Topic:T: Pub"]),
        (RequestCode.SEND_MESSAGE, {"topic": RETRY, "group": "P"}, ["Group:P: Sub"]),
        (RequestCode.SEND_MESSAGE, {"topic": RETRY, "group": " "}, ["Group:G: Sub"]),
        (RequestCode.SEND_MESSAGE, {"topic": RETRY}, ["Group:G: Sub"]),
        (RequestCode.SEND_MESSAGE, {}, ["Topic:null: Pub"]),
        (RequestCode.SEND_MESSAGE_V2, {"b": "T", "a": "P"}, ["Topic:T: Pub"]),
        (RequestCode.SEND_BATCH_MESSAGE, {"b": RETRY, "a": "P"}, ["Group:P: Sub"]),
        (RequestCode.RECALL_MESSAGE, {"topic": "T"}, ["Topic:T: Pub"]),
        (RequestCode.QUERY_MESSAGE, {"topic": "T"}, ["Topic:T: Sub Get"]),
        (RequestCode.END_TRANSACTION, {"topic": "T"}, ["Topic:T: Pub"]),
        (RequestCode.END_TRANSACTION, {"topic": " "}, []),
        (RequestCode.END_TRANSACTION, {}, []),
        (RequestCode.CONSUMER_SEND_MSG_BACK, {"group": "G"}, ["Group:G: Sub"]),
        (RequestCode.UNREGISTER_CLIENT, CONSUMER, ["Group:G: Sub"]),
        (RequestCode.UNREGISTER_CLIENT, {"consumerGroup": " "}, []),
        (RequestCode.GET_CONSUMER_LIST_BY_GROUP, CONSUMER, ["Group:G: Sub Get"]),
        (RequestCode.UPDATE_AND_CREATE_TOPIC, {"topic": "T", "topicFilterType": "SINGLE_TAG"}, ["Topic:T: Create"]),
        (RequestCode.UPDATE_AND_CREATE_TOPIC, {"topic": RETRY, "topicFilterType": "MULTI_TAG"}, ["Group:G: Create"]),
        (RequestCode.UPDATE_AND_CREATE_TOPIC, {"topicFilterType": "MULTI_TAG"}, []),
        (RequestCode.AUTH_LIST_USER, {"topic": "T"}, ["Cluster:C: Get"]),
        (RequestCode.AUTH_CREATE_USER, {}, ["Cluster:C: Update"]),
        (RequestCode.REGISTER_BROKER, {"clusterName": "D"}, ["Cluster:D: Update"]),
        (RequestCode.REGISTER_BROKER, {}, ["Cluster:C: Update"]),
        (RequestCode.ACK_MESSAGE, {**CONSUMER, "topic": RETRY}, ["Group:G: Sub", "Group:G: Sub"]),
        (RequestCode.GET_CONSUME_STATS, {"topicList": "T;;U"}, ["Topic:T: Get", "Topic:U: Get"]),
        (RequestCode.GET_BROKER_CONFIG, {"topic": "T"}, []),
    ],
)  # fmt: skip
def test_a_request_requires_the_rights_of_its_topic_and_group_fields(
    code: int, ext: Fields, expected: list[str]
) -> None:
    """A retry topic requires rights on its group instead; if the request names the group, too, nothing is added."""
    assert required_rights(code, ext) == expected


SUBSCRIBED = [{"topic": "T"}, {"topic": RETRY}, {}, {"topic": "U"}]
TOPICS = ["Topic:T: Sub", "Topic:null: Sub", "Topic:U: Sub"]


def test_a_heartbeat_requires_rights_on_each_group_and_subscribed_topic() -> None:
    """A heartbeat requires rights on each group, and on each subscribed topic except retry topics."""
    body = {
        "clientID": "c",
        "consumerDataSet": [{"groupName": "G", "subscriptionDataSet": SUBSCRIBED}, {"groupName": "H"}],
    }
    assert required_rights(RequestCode.HEART_BEAT, {}, body) == ["Group:G: Sub", *TOPICS, "Group:H: Sub"]


@pytest.mark.parametrize("code", [RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ])
def test_a_queue_lock_requires_rights_on_the_group_and_each_topic(code: int) -> None:
    """A queue lock requires rights on the group, and on the topic of each queue except retry topics."""
    body = {"consumerGroup": "G", "clientId": "c", "mqSet": SUBSCRIBED}
    assert required_rights(code, {}, body) == ["Group:G: Sub", *TOPICS]


@pytest.mark.parametrize("ext", [{"topic": "T"}, {"topic": "T", "topicFilterType": "single_tag"}])
def test_a_topic_with_an_unknown_filter_type_is_rejected(ext: Fields) -> None:
    """A topic creation with an unknown filter type is rejected, because its header is validated when it is decoded."""
    with pytest.raises(AccessDenied, match=r"parse authorization context error\."):
        required_rights(RequestCode.UPDATE_AND_CREATE_TOPIC, ext)
