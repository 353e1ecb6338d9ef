"""The request codes without a processor: the reason, and the rights that such a request requires.

A broker checks rights before it looks for a processor, so these codes declare theirs too. Dispatch, the refusals, the
coverage page and the list of requests that the conformance suite does not compare read the declarations.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.kernel.value_class import frozen_value

from ..request.request_code import RequestCode
from ..request.request_table import Role
from ..request.required_rights import Rights, no_rights, on_cluster, on_fields


class UnservedReason(Enum):
    """The reason why a code has no processor: its words on the coverage page, and a sentence."""

    NO_HANDLER = "no handler, as in upstream", "upstream defines the code, but no handler for it"
    OTHER_PROGRAM = (
        "a controller or broker container of upstream only",
        "upstream serves the code in other programs than brokers and name servers",
    )
    TO_CLIENTS = (
        "sent to clients, not implemented",
        "only a broker sends the code, to a client, over the client's own connection",
    )
    BETWEEN_SERVERS = (
        "not implemented",
        "requests between a broker and its slaves, controller or name server; in the emulator they share a process",
    )

    def __init__(self, words: str, sentence: str) -> None:
        self.words = words
        self.sentence = sentence


@frozen_value
class UnservedCode:
    """One request code without a processor. `role` is the node that it is for."""

    code: RequestCode
    reason: UnservedReason
    rights: Rights = no_rights
    role: Role = Role.BROKER


_NO_HANDLER = UnservedReason.NO_HANDLER
_OTHER_PROGRAM = UnservedReason.OTHER_PROGRAM
_TO_CLIENTS = UnservedReason.TO_CLIENTS
_BETWEEN_SERVERS = UnservedReason.BETWEEN_SERVERS
_NAME_SERVER = Role.NAME_SERVER
_UPDATE_CLUSTER = on_fields(Action.UPDATE, fields="clusterName", or_cluster=True)
_GET_CLUSTER = on_fields(Action.GET, fields="clusterName", or_cluster=True)

_DECLARED = (
    UnservedCode(RequestCode.QUERY_BROKER_OFFSET, _NO_HANDLER),
    UnservedCode(RequestCode.GET_TOPIC_CONFIG_LIST, _NO_HANDLER),
    UnservedCode(RequestCode.GET_TOPIC_NAME_LIST, _NO_HANDLER),
    UnservedCode(RequestCode.TRIGGER_DELETE_FILES, _NO_HANDLER),
    UnservedCode(RequestCode.GET_CLIENT_CONFIG, _NO_HANDLER),
    UnservedCode(RequestCode.SUSPEND_CONSUMER, _NO_HANDLER),
    UnservedCode(RequestCode.RESUME_CONSUMER, _NO_HANDLER),
    UnservedCode(RequestCode.RESET_CONSUMER_OFFSET_IN_CONSUMER, _NO_HANDLER),
    UnservedCode(RequestCode.RESET_CONSUMER_OFFSET_IN_BROKER, _NO_HANDLER),
    UnservedCode(RequestCode.ADJUST_CONSUMER_THREAD_POOL, _NO_HANDLER),
    UnservedCode(RequestCode.WHO_CONSUME_THE_MESSAGE, _NO_HANDLER),
    UnservedCode(RequestCode.REGISTER_FILTER_SERVER, _NO_HANDLER),
    UnservedCode(RequestCode.REGISTER_MESSAGE_FILTER_CLASS, _NO_HANDLER),
    UnservedCode(RequestCode.ADD_BROKER, _OTHER_PROGRAM, on_cluster(Action.UPDATE)),
    UnservedCode(
        RequestCode.REMOVE_BROKER, _OTHER_PROGRAM, on_fields(Action.UPDATE, fields="brokerClusterName", or_cluster=True)
    ),
    UnservedCode(RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET, _OTHER_PROGRAM, on_cluster(Action.UPDATE)),
    UnservedCode(RequestCode.CONTROLLER_ELECT_MASTER, _OTHER_PROGRAM, _UPDATE_CLUSTER),
    UnservedCode(RequestCode.CONTROLLER_REGISTER_BROKER, _OTHER_PROGRAM, _UPDATE_CLUSTER),
    UnservedCode(RequestCode.CONTROLLER_GET_REPLICA_INFO, _OTHER_PROGRAM, on_cluster(Action.GET)),
    UnservedCode(RequestCode.CONTROLLER_GET_METADATA_INFO, _OTHER_PROGRAM),
    UnservedCode(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, _OTHER_PROGRAM),
    UnservedCode(RequestCode.UPDATE_CONTROLLER_CONFIG, _OTHER_PROGRAM),
    UnservedCode(RequestCode.GET_CONTROLLER_CONFIG, _OTHER_PROGRAM),
    UnservedCode(RequestCode.CLEAN_BROKER_DATA, _OTHER_PROGRAM, _UPDATE_CLUSTER),
    UnservedCode(RequestCode.CONTROLLER_GET_NEXT_BROKER_ID, _OTHER_PROGRAM, _GET_CLUSTER),
    UnservedCode(RequestCode.CONTROLLER_APPLY_BROKER_ID, _OTHER_PROGRAM, _UPDATE_CLUSTER),
    UnservedCode(RequestCode.CHECK_TRANSACTION_STATE, _TO_CLIENTS, on_fields(Action.PUB, fields="topic")),
    UnservedCode(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, _TO_CLIENTS, on_fields(Action.SUB, fields="consumerGroup")),
    UnservedCode(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, _TO_CLIENTS),
    UnservedCode(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, _TO_CLIENTS),
    UnservedCode(
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, _TO_CLIENTS, on_fields(Action.SUB, fields="producerGroup topic")
    ),
    UnservedCode(RequestCode.REGISTER_BROKER, _BETWEEN_SERVERS, _UPDATE_CLUSTER, _NAME_SERVER),
    UnservedCode(RequestCode.UNREGISTER_BROKER, _BETWEEN_SERVERS, _UPDATE_CLUSTER, _NAME_SERVER),
    UnservedCode(RequestCode.REGISTER_TOPIC_IN_NAMESRV, _BETWEEN_SERVERS, on_cluster(Action.UPDATE), _NAME_SERVER),
    UnservedCode(RequestCode.QUERY_DATA_VERSION, _BETWEEN_SERVERS, _GET_CLUSTER, _NAME_SERVER),
    UnservedCode(
        RequestCode.GET_BROKER_MEMBER_GROUP, _BETWEEN_SERVERS, on_fields(Action.GET, fields="clusterName"), _NAME_SERVER
    ),
    UnservedCode(RequestCode.BROKER_HEARTBEAT, _BETWEEN_SERVERS, _UPDATE_CLUSTER, _NAME_SERVER),
    UnservedCode(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, _BETWEEN_SERVERS, on_cluster(Action.UPDATE)),
    UnservedCode(RequestCode.EXCHANGE_BROKER_HA_INFO, _BETWEEN_SERVERS, on_cluster(Action.UPDATE)),
    UnservedCode(RequestCode.NOTIFY_BROKER_ROLE_CHANGED, _BETWEEN_SERVERS, on_cluster(Action.UPDATE)),
)


def by_code(declared: Iterable[UnservedCode]) -> Mapping[int, UnservedCode]:
    """Return the declarations by code. Raises AssertionError for a code that is declared twice."""
    found: dict[int, UnservedCode] = {}
    for each in declared:
        if each.code in found:
            raise AssertionError(f"{each.code.name} is declared twice")
        found[int(each.code)] = each
    return MappingProxyType(found)


UNSERVED: Mapping[int, UnservedCode] = by_code(_DECLARED)
"""The declaration of each code without a processor."""


def codes_with(*reasons: UnservedReason) -> tuple[RequestCode, ...]:
    """Return the codes without a processor for one of these reasons, in the order of their declaration."""
    return tuple(each.code for each in UNSERVED.values() if each.reason in reasons)
