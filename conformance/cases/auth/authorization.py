"""Authorization of requests by the rights of users."""

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_members import subscription
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.accounts import add_policies, as_user, entry, user
from ...helpers.settings import ACL_CACHED, ACL_ENFORCED


def missing_right(response: DecodedResponse) -> str | None:
    """Return the text of a rejection for a missing right, or `goes on` for any other response."""
    return response.remark if response.code == 16 else "goes on"


def send_as_new_user(
    t: RemotingContext, topic: str, *entries: dict[str, object], by_default: tuple[dict[str, object], ...] = ()
) -> DecodedResponse:
    """Send a message as a new user with these rights, and return the response."""
    credentials = user(t, *entries)
    if by_default:
        add_policies(t, credentials.access_key, *by_default, kind="Default")
    return t.send(topic, to=as_user(t, credentials))


@remoting_case("AclAuthorizationHandler.handle", settings=ACL_ENFORCED)
def sends_need_pub_on_the_topic_and_pulls_sub_on_topic_and_group(t: RemotingContext) -> None:
    """Sending requires Pub on the topic, reading requires Sub on topic and group.

    The rejection names user, resource and address.
    """
    topic, other, group = t.topic(), t.topic(), t.group()
    t.send(topic)
    ann = user(t, entry(f"Topic:{topic}", "Pub"))
    mine = as_user(t, ann)
    t.note("send", t.send(topic, to=mine), 0)
    t.note("send elsewhere", t.send(other, to=mine), 16)
    t.note("pull", t.pull(topic, group, to=mine), 16)
    add_policies(t, ann.access_key, entry(f"Topic:{topic}", "Pub", "Sub"))
    t.note("pull with the topic's", t.pull(topic, group, to=mine), 16)
    add_policies(t, ann.access_key, entry(f"Group:{group}", "Sub"))
    t.note("pull with both", t.pull(topic, group, to=mine), 0)
    add_policies(t, ann.access_key, entry(f"Topic:{topic}", "Pub", decision="Deny"))
    t.note("denied", t.send(topic, to=mine), 16)
    t.note("pull after another entry of the topic", t.pull(topic, group, to=mine), 16)
    t.note("nothing at all", t.send(topic, to=as_user(t, user(t))), 16)
    t.note("super", t.send(topic, to=as_user(t, user(t, userType="Super"))), 0)


@remoting_case("Resource.isMatch, PolicyEntry.isMatchAction", settings=ACL_ENFORCED)
def acl_entries_match_resources_by_name_prefix_or_wildcard(t: RemotingContext) -> None:
    """An entry's resource is a name, a prefix or any, of one kind or any kind; its actions are one, several or all."""
    topic = t.topic()
    stem = topic[:-2]
    for label, each in {
        "name": entry(f"Topic:{topic}", "Pub"),
        "kind in small letters": entry(f"topic:{topic}", "pub"),
        "name in capitals": entry(f"Topic:{topic.upper()}", "Pub"),
        "prefix": entry(f"Topic:{stem}*", "Pub"),
        "prefix of the whole name": entry(f"Topic:{topic}*", "Pub"),
        "another prefix": entry("Topic:x*", "Pub"),
        "star within": entry(f"Topic:{stem}*{topic[-1]}", "Pub"),
        "two stars": entry(f"Topic:{stem}**", "Pub"),
        "any topic": entry("Topic:*", "Pub"),
        "any group": entry("Group:*", "Pub"),
        "any kind": entry("*", "Pub"),
        "any kind by its name": entry("Any:x", "Pub"),
        "unknown kind": entry(f"Unknown:{topic}", "Pub"),
        "all actions": entry(f"Topic:{topic}", "All"),
        "other actions": entry(f"Topic:{topic}", "Sub", "Create", "Update", "Delete", "Get", "List"),
        "one of several": entry(f"Topic:{topic}", "Sub", "Pub"),
    }.items():
        t.note(label, send_as_new_user(t, topic, each))


@remoting_case("AclAuthorizationHandler.comparePolicyEntries", settings=ACL_ENFORCED)
def short_acl_prefixes_precede_long_ones_and_any_resource_the_wildcard(t: RemotingContext) -> None:
    """Of two matching entries a short prefix has priority over a long one, and any other resource over `*`.

    Of an exact name and a prefix, the later entry has priority, and so has either of them after `Topic:*`. Before
    `Topic:*`, and for the same resource, Allow has priority over Deny. Upstream's sort decides among more entries.
    """
    topic = t.topic()
    resources = {
        "name": f"Topic:{topic}",
        "long": f"Topic:{topic[:-1]}*",
        "short": f"Topic:{topic[:3]}*",
        "any": "Topic:*",
        "all": "*",
    }

    def rights(text: str) -> list[dict[str, object]]:
        return [
            entry(resources[word.lstrip("-")], "Pub", decision="Deny" if word.startswith("-") else "Allow")
            for word in text.split()
        ]

    words = list(resources)
    pairs = [
        f"{'-' if deny else ''}{one} {'' if deny else '-'}{two}"
        for one in words
        for two in words
        if one != two
        for deny in (True, False)
    ]
    longer = (
        "-any name -short",
        "any -name short",
        "-any -short name",
        "any -any",
        "-all any -long name",
        "all -any long -name short",
        "-name any -short long",
        "-short any name -all long",
        "name -any -long all -short",
        "-long short -any all name",
        "any -name -long",
        "-any short long",
    )
    for text in (*pairs, *longer):
        t.note(text, "allowed" if send_as_new_user(t, topic, *rights(text)).code == 0 else "denied")


@remoting_case("AclAuthorizationHandler.matchPolicyEntries", settings=ACL_ENFORCED)
def default_acl_entries_apply_only_if_no_custom_entry_matches(t: RemotingContext) -> None:
    """Default entries count only if no custom entry matches, whether that allows or denies."""
    topic = t.topic()
    mine, denied = entry(f"Topic:{topic}", "Pub"), entry(f"Topic:{topic}", "Pub", decision="Deny")
    other = entry(f"Topic:{topic}", "Sub", decision="Deny")
    t.note("by default", send_as_new_user(t, topic, by_default=(mine,)), 0)
    t.note("denied, by default allowed", send_as_new_user(t, topic, denied, by_default=(mine,)), 16)
    t.note("allowed, by default denied", send_as_new_user(t, topic, mine, by_default=(denied,)), 0)
    t.note("any allowed, by default denied", send_as_new_user(t, topic, entry("*", "All"), by_default=(denied,)), 0)
    t.note("other action, by default allowed", send_as_new_user(t, topic, other, by_default=(mine,)), 0)


@remoting_case("Environment.isMatch, IPAddressUtils.isIPInRange", settings=ACL_ENFORCED)
def acl_entries_may_be_limited_to_source_addresses(t: RemotingContext) -> None:
    """An entry may be limited to addresses or address ranges; it does not count for other addresses."""
    topic = t.topic()
    for label, sources in {
        "own": ("127.0.0.1",),
        "another": ("127.0.0.2",),
        "one of several": ("10.0.0.1", "127.0.0.1"),
        "own range": ("127.0.0.0/8",),
        "range by an address in it": ("127.9.9.9/8",),
        "another range": ("10.0.0.0/8",),
        "narrow range": ("127.0.0.1/32",),
        "everything": ("0.0.0.0/0",),
        "IPv6": ("::1",),
        "range of IPv6": ("::/0",),
        "narrow range of IPv6": ("fe80::/10",),
    }.items():
        t.note(label, send_as_new_user(t, topic, entry(f"Topic:{topic}", "Pub", sources=sources)))
    elsewhere = entry(f"Topic:{topic}", "Pub", decision="Deny", sources=("10.0.0.0/8",))
    t.note("denied elsewhere", send_as_new_user(t, topic, elsewhere, entry("Topic:*", "Pub")), 0)


NAME_FIELDS = (
    *("consumerGroup", "group", "groupName", "topic", "destGroup", "srcGroup", "compareGroup", "producerGroup"),
    *("clusterName", "brokerClusterName", "originTopic", "name", "namespace", "key", "brokerName", "username"),
)
NUMBER_FIELDS = (
    *("queueId", "queueOffset", "offset", "timestamp", "index", "count", "maxMsgNums", "invisibleTime", "pollTime"),
    *("bornTime", "initMode", "commitOffset", "maxNum", "beginTimestamp", "endTimestamp", "sysFlag", "delayLevel"),
    *("perm", "readQueueNums", "writeQueueNums", "topicSysFlag", "suspendTimeoutMillis", "subVersion"),
)
ALL_FIELDS: dict[str, object] = {
    **{name: name for name in NAME_FIELDS},
    **dict.fromkeys(NUMBER_FIELDS, 0),
    "topicList": "one;two",
    "filterGroups": "g1,g2",
}
"""Fields of any request; each name field has its own name as value."""


@remoting_case("RocketMQAction, RocketMQResource", settings=ACL_ENFORCED, alone=True)
def a_rejection_names_the_first_missing_right_of_the_request_code(t: RemotingContext) -> None:
    """The rejection of each request code names the first right that a user without rights lacks.

    Codes that require no right are processed.
    """
    mine = as_user(t, user(t))
    for code in sorted(RequestCode):
        if code in EXCLUDED_CODES:
            continue
        t.note(code.name, missing_right(t.request(code, ALL_FIELDS, b"{}", to=mine)))


@remoting_case("DefaultAuthorizationContextBuilder.buildContextByAnnotation", settings=ACL_ENFORCED)
def rights_are_required_only_for_present_name_fields(t: RemotingContext) -> None:
    """Only name fields that a request has require rights, and retry topics count as their groups."""
    mine = as_user(t, user(t))
    for label, code, ext in (
        ("no topic", RequestCode.GET_MAX_OFFSET, {"queueId": 0}),
        ("retry topic", RequestCode.GET_MAX_OFFSET, {"topic": "%RETRY%g", "queueId": 0}),
        ("dead letters", RequestCode.GET_MAX_OFFSET, {"topic": "%DLQ%g", "queueId": 0}),
        ("group of a retry topic", RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "%RETRY%g"}),
        ("blank topic", RequestCode.GET_MAX_OFFSET, {"topic": " ", "queueId": 0}),
        ("empty topic", RequestCode.GET_MAX_OFFSET, {"topic": "", "queueId": 0}),
        ("list of topics", RequestCode.GET_CONSUME_STATS, {"topicList": "a;;b"}),
        ("group alone", RequestCode.GET_CONSUME_STATS, {"consumerGroup": "g"}),
        ("no field with a name", RequestCode.GET_CONSUME_STATS, {}),
        ("new topic", RequestCode.UPDATE_AND_CREATE_TOPIC, {"topic": "t", "topicFilterType": "SINGLE_TAG"}),
        ("new topic of no kind", RequestCode.UPDATE_AND_CREATE_TOPIC, {"topic": "t"}),
        ("new topic of an unknown kind", RequestCode.UPDATE_AND_CREATE_TOPIC, {"topicFilterType": "x"}),
        ("new topic without a name", RequestCode.UPDATE_AND_CREATE_TOPIC, {"topicFilterType": "MULTI_TAG"}),
    ):
        t.note(label, missing_right(t.request(code, ext, to=mine)))


@remoting_case("DefaultAuthorizationContextBuilder.build", settings=ACL_ENFORCED)
def retry_topics_and_bodies_determine_the_required_rights(t: RemotingContext) -> None:
    """A send to a retry topic requires rights of a consumer.

    Heartbeats and locks require rights on names in their bodies.
    """
    mine = as_user(t, user(t))

    def note(label: str, code: int, ext: dict[str, object] | None = None, body: bytes = b"") -> None:
        t.note(label, missing_right(t.request(code, ext or {}, body, to=mine)))

    send, pull = RequestCode.SEND_MESSAGE, RequestCode.PULL_MESSAGE
    note("route", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "t"})
    note("route of a retry topic", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "%RETRY%g"})
    note("send", send, {"topic": "t"})
    note("send to a retry topic", send, {"topic": "%RETRY%g"})
    note("send to a retry topic for a group", send, {"topic": "%RETRY%g", "group": "h"})
    note("send to no topic", send)
    note("short send", RequestCode.SEND_MESSAGE_V2, {"b": "t"})
    note("short send to a retry topic", RequestCode.SEND_MESSAGE_V2, {"b": "%RETRY%g", "a": " "})
    note("batch to a retry topic for a group", RequestCode.SEND_BATCH_MESSAGE, {"b": "%RETRY%g", "a": "h"})
    note("reply", RequestCode.SEND_REPLY_MESSAGE_V2, {"b": "t"})
    note("end of a transaction", RequestCode.END_TRANSACTION, {"topic": "t"})
    note("end of a transaction without a topic", RequestCode.END_TRANSACTION, {"topic": " "})
    note("send back", RequestCode.CONSUMER_SEND_MSG_BACK, {"group": "%RETRY%g"})
    note("pull", pull, {"topic": "t", "consumerGroup": "g"})
    note("pull of a retry topic", pull, {"topic": "%RETRY%g", "consumerGroup": "g"})
    note("lite pull", RequestCode.LITE_PULL_MESSAGE, {"topic": "t", "consumerGroup": "g"})
    note("query", RequestCode.QUERY_MESSAGE, {"topic": "t"})
    note("progress of a retry topic", RequestCode.QUERY_CONSUMER_OFFSET, {"topic": "%RETRY%g", "consumerGroup": "g"})
    note("commit", RequestCode.UPDATE_CONSUMER_OFFSET, {"topic": "t", "consumerGroup": "g"})
    note("members", RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "g"})
    note("farewell of a producer", RequestCode.UNREGISTER_CLIENT, {"producerGroup": "p"})
    note("farewell of a consumer", RequestCode.UNREGISTER_CLIENT, {"consumerGroup": "g"})
    consumer = {"groupName": "g", "subscriptionDataSet": [subscription("t", "*")]}
    beat = RequestCode.HEART_BEAT
    note("heartbeat of a producer", beat, body=dumps({"clientID": "c", "producerDataSet": [{"groupName": "p"}]}))
    note("heartbeat of a consumer", beat, body=dumps({"clientID": "c", "consumerDataSet": [consumer]}))
    note("heartbeat that is none", beat, body=b"x")
    note("heartbeat without a body", beat)
    note("lock", RequestCode.LOCK_BATCH_MQ, body=dumps({"consumerGroup": "g", "mqSet": [{"topic": "t", "queueId": 0}]}))
    note("lock without a body", RequestCode.LOCK_BATCH_MQ)
    note("unlock", RequestCode.UNLOCK_BATCH_MQ, body=dumps({"consumerGroup": "g"}))


@remoting_case("DefaultAuthorizationContextBuilder.build", settings=ACL_ENFORCED)
def topics_in_heartbeat_and_lock_bodies_require_rights(t: RemotingContext) -> None:
    """The topics in the bodies of heartbeats and locks require rights, except retry topics."""
    group, topic = t.group(), t.topic()
    mine = as_user(t, user(t, entry(f"Group:{group}", "Sub")))

    def beat(*topics: str) -> object:
        consumer = {"groupName": group, "subscriptionDataSet": [subscription(each, "*") for each in topics]}
        return missing_right(
            t.request(RequestCode.HEART_BEAT, {}, dumps({"clientID": "c", "consumerDataSet": [consumer]}), to=mine)
        )

    def lock(topic: str, code: int = RequestCode.LOCK_BATCH_MQ) -> object:
        queue = {"topic": topic, "brokerName": t.broker_name, "queueId": 0}
        return missing_right(
            t.request(code, {}, dumps({"consumerGroup": group, "clientId": "c", "mqSet": [queue]}), to=mine)
        )

    t.note("heartbeat", beat(topic))
    t.note("heartbeat of a retry topic", beat(f"%RETRY%{group}"))
    t.note("lock", lock(topic))
    t.note("lock of a retry topic", lock(f"%RETRY%{group}"))
    t.note("unlock", lock(topic, RequestCode.UNLOCK_BATCH_MQ))
    for code in (RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.PULL_MESSAGE):
        t.note(
            code.name, missing_right(t.request(code, {"topic": topic, "consumerGroup": group, "queueId": 0}, to=mine))
        )


@remoting_case("AbstractAuthorizationStrategy.doEvaluate", settings=ACL_ENFORCED)
def whitelisted_request_codes_need_no_right(t: RemotingContext) -> None:
    """Codes in `authorizationWhitelist` need no rights, but the user must still be known."""
    topic = t.topic()
    mine = as_user(t, user(t))
    t.note("listed", t.request(RequestCode.GET_EARLIEST_MSG_STORETIME, {"topic": topic, "queueId": 0}, to=mine), 0)
    t.note("not listed", t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"topic": topic, "queueId": 0}, to=mine), 16)


@remoting_case("StatefulAuthorizationStrategy.evaluate", settings=ACL_CACHED)
def the_stateful_strategy_caches_authorization_per_connection(t: RemotingContext) -> None:
    """The stateful strategy caches a decision for a connection, user and resource, for the configured time."""
    topic, other = t.topic(), t.topic()
    ann = user(t, entry(f"Topic:{topic}", "Pub"))
    mine: RemotingClient = as_user(t, ann)
    t.note("allowed", t.send(topic, to=mine), 0)
    t.note("not allowed", t.send(other, to=mine), 16)
    add_policies(t, ann.access_key, entry(f"Topic:{topic}", "Sub"), entry(f"Topic:{other}", "Pub"))
    t.note("taken since", t.send(topic, to=mine), 0)
    t.note("given since", t.send(other, to=mine), 16)
    t.note("on another connection", t.send(other, to=as_user(t, ann)), 0)
    t.wait(3.5)
    t.note("taken, later", t.send(topic, to=mine), 16)
    t.note("given, later", t.send(other, to=mine), 0)


EXCLUDED_CODES = frozenset({RequestCode.UPDATE_BROKER_CONFIG})
"""Codes that would change the broker for other cases."""
