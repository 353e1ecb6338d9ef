"""Response codes that the engine can return for each operation, besides those that it can return for all.

tests/emulator/faults/test_possible_codes.py compares the table with the source of the engine, and prints a new one.
"""

from collections.abc import Mapping

from ..kernel.response_code import ResponseCode

COMMON = frozenset({"SYSTEM_ERROR", "SYSTEM_BUSY", "REQUEST_CODE_NOT_SUPPORTED", "NO_PERMISSION", "GO_AWAY"})
"""Codes of requests that fail in a processor, wait too long, are not supported, lack rights, or reach a broker that
shuts down."""

POSSIBLE: Mapping[str, str] = {
    "AckMessage": "MESSAGE_ILLEGAL NO_MESSAGE SYSTEM_ERROR TOPIC_NOT_EXIST",
    "BatchAckMessage": "MESSAGE_ILLEGAL NO_MESSAGE SYSTEM_ERROR",
    "ChangeInvisibleTime": "MESSAGE_ILLEGAL NO_MESSAGE SYSTEM_ERROR TOPIC_NOT_EXIST",
    "CheckClientConfig": "SUBSCRIPTION_PARSE_FAILED SYSTEM_ERROR",
    "ConsumeMessageDirectly": "CONSUME_MSG_TIMEOUT SYSTEM_ERROR",
    "CreateGroup": "INVALID_PARAMETER",
    "CreateGroups": "INVALID_PARAMETER",
    "CreateStaticTopic": "INVALID_PARAMETER SYSTEM_ERROR",
    "CreateTopic": "INVALID_PARAMETER SYSTEM_ERROR",
    "CreateTopics": "INVALID_PARAMETER SYSTEM_ERROR",
    "CreateUser": "INVALID_PARAMETER NO_PERMISSION SYSTEM_ERROR",
    "DeleteAcl": "NO_PERMISSION SYSTEM_ERROR",
    "DeleteTopic": "INVALID_PARAMETER",
    "DeleteUser": "NO_PERMISSION SYSTEM_ERROR",
    "EndTransaction": (
        "ILLEGAL_OPERATION MESSAGE_ILLEGAL NO_PERMISSION SERVICE_NOT_AVAILABLE SLAVE_NOT_AVAILABLE SYSTEM_ERROR"
    ),
    "ExportConfigToJson": "SYSTEM_ERROR",
    "GetAcl": "NO_PERMISSION SYSTEM_ERROR",
    "GetBrokerEpochCache": "SYSTEM_ERROR",
    "GetConsumerConnectionList": "CONSUMER_NOT_ONLINE",
    "GetConsumerListByGroup": "SYSTEM_ERROR",
    "GetConsumerRunningInfo": "CONSUME_MSG_TIMEOUT SYSTEM_ERROR",
    "GetConsumerStatus": "SYSTEM_ERROR",
    "GetGroup": "SUBSCRIPTION_GROUP_NOT_EXIST",
    "GetKvConfig": "QUERY_NOT_FOUND",
    "GetKvListByNamespace": "QUERY_NOT_FOUND",
    "GetNamesrvTopicList": "SYSTEM_ERROR",
    "GetProducerConnectionList": "SYSTEM_ERROR",
    "GetRouteInfo": "TOPIC_NOT_EXIST",
    "GetTimerCheckPoint": "SYSTEM_ERROR",
    "GetTimerMetrics": "SYSTEM_ERROR",
    "GetTopicConfig": "TOPIC_NOT_EXIST",
    "GetTopicStats": "TOPIC_NOT_EXIST",
    "GetUnitTopicList": "SYSTEM_ERROR",
    "GetUser": "INVALID_PARAMETER SYSTEM_ERROR",
    "Heartbeat": "INVALID_PARAMETER",
    "ListAcls": "SYSTEM_ERROR",
    "ListUsers": "SYSTEM_ERROR",
    "Notification": "INVALID_PARAMETER NO_PERMISSION SUBSCRIPTION_GROUP_NOT_EXIST TOPIC_NOT_EXIST",
    "PeekMessage": (
        "INVALID_PARAMETER NO_PERMISSION PULL_NOT_FOUND SUBSCRIPTION_GROUP_NOT_EXIST SUCCESS SYSTEM_ERROR "
        "TOPIC_NOT_EXIST"
    ),
    "PollingInfo": "INVALID_PARAMETER NO_PERMISSION SUBSCRIPTION_GROUP_NOT_EXIST TOPIC_NOT_EXIST",
    "PopMessage": (
        "INVALID_PARAMETER NO_PERMISSION POLLING_FULL POLLING_TIMEOUT SUBSCRIPTION_GROUP_NOT_EXIST "
        "SUBSCRIPTION_PARSE_FAILED SUCCESS SYSTEM_ERROR TOPIC_NOT_EXIST"
    ),
    "PullMessage": (
        "FILTER_DATA_NOT_EXIST FILTER_DATA_NOT_LATEST INVALID_PARAMETER NO_PERMISSION PULL_NOT_FOUND "
        "PULL_OFFSET_MOVED PULL_RETRY_IMMEDIATELY SUBSCRIPTION_GROUP_NOT_EXIST SUBSCRIPTION_NOT_EXIST "
        "SUBSCRIPTION_NOT_LATEST SUBSCRIPTION_PARSE_FAILED SYSTEM_BUSY SYSTEM_ERROR TOPIC_NOT_EXIST"
    ),
    "PutAcl": "NO_PERMISSION SYSTEM_ERROR",
    "QueryConsumeQueue": "SYSTEM_ERROR",
    "QueryConsumeTimeSpan": "TOPIC_NOT_EXIST",
    "QueryConsumerOffset": "QUERY_NOT_FOUND",
    "QueryCorrectionOffset": "SYSTEM_ERROR",
    "QueryMessage": "QUERY_NOT_FOUND SYSTEM_ERROR",
    "RecallMessage": (
        "ILLEGAL_OPERATION NO_PERMISSION SERVICE_NOT_AVAILABLE SLAVE_NOT_AVAILABLE SYSTEM_ERROR TOPIC_NOT_EXIST"
    ),
    "ResetOffset": "CONSUMER_NOT_ONLINE SUBSCRIPTION_GROUP_NOT_EXIST SYSTEM_ERROR TOPIC_NOT_EXIST",
    "ResumeCheckHalfMessage": "SYSTEM_ERROR",
    "SendMessage": (
        "FLUSH_DISK_TIMEOUT FLUSH_SLAVE_TIMEOUT INVALID_PARAMETER MESSAGE_ILLEGAL NO_PERMISSION "
        "SERVICE_NOT_AVAILABLE SUBSCRIPTION_GROUP_NOT_EXIST SUCCESS SYSTEM_BUSY SYSTEM_ERROR TOPIC_NOT_EXIST"
    ),
    "SendMessageBack": "INVALID_PARAMETER NO_PERMISSION SUBSCRIPTION_GROUP_NOT_EXIST SYSTEM_BUSY SYSTEM_ERROR",
    "SendReplyMessage": "INVALID_PARAMETER NO_PERMISSION SUCCESS SYSTEM_ERROR TOPIC_NOT_EXIST",
    "SetCommitLogReadMode": "INVALID_PARAMETER SYSTEM_ERROR",
    "SetMessageRequestMode": "NO_PERMISSION SUBSCRIPTION_GROUP_NOT_EXIST TOPIC_NOT_EXIST",
    "UpdateBrokerConfig": "NO_PERMISSION SYSTEM_ERROR",
    "UpdateConsumerOffset": "INVALID_PARAMETER SUBSCRIPTION_GROUP_NOT_EXIST TOPIC_NOT_EXIST",
    "UpdateNamesrvConfig": "NO_PERMISSION SYSTEM_ERROR",
    "UpdateUser": "INVALID_PARAMETER NO_PERMISSION SYSTEM_ERROR",
    "ViewBrokerStats": "SYSTEM_ERROR",
    "ViewMessage": "SYSTEM_ERROR",
}
"""Names of codes, separated by blanks, by the class name of the operation."""


def codes_of(operation: str) -> Mapping[str, int]:
    """Return the names and numbers of the codes with which an operation can be refused."""
    names = COMMON | set(POSSIBLE.get(operation, "").split())
    return {name: int(ResponseCode[name]) for name in sorted(names - {"SUCCESS"})}
