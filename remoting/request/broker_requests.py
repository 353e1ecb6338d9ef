"""Encode server-initiated requests: effects of the engine become request frames for a client.

The header is always JSON. Opaque values come from the broker's own counter. Source: Broker2Client (5.3.3).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

import orjson
from rocketmq_testkit.emulator.gate.effects import (
    CheckTransactionState,
    Effect,
    NotifyConsumerIdsChanged,
    PushReplyMessage,
    RequestConsumerStatus,
    RequestDirectConsumption,
    RequestRunningInfo,
    ResetConsumerOffset,
    ServerRequest,
)
from rocketmq_testkit.emulator.operations.clients import MessageQueue

from ..bodies.writing import dumps, host_text, message_queue, queue_map
from ..wire.command import ONEWAY, VERSION_5_3_3
from ..wire.response_frame import HEAD
from .request_code import RequestCode

CODE_OF_EFFECT: Mapping[type[Effect], RequestCode] = {
    NotifyConsumerIdsChanged: RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
    CheckTransactionState: RequestCode.CHECK_TRANSACTION_STATE,
    PushReplyMessage: RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
    RequestRunningInfo: RequestCode.GET_CONSUMER_RUNNING_INFO,
    RequestDirectConsumption: RequestCode.CONSUME_MESSAGE_DIRECTLY,
    RequestConsumerStatus: RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
    ResetConsumerOffset: RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
}
"""The request code of each effect."""

CODES_WITH_RESPONSE = frozenset(code for effect, code in CODE_OF_EFFECT.items() if issubclass(effect, ServerRequest))
"""Codes of the requests to which the client responds. All others are oneway."""


_AFTER_OPAQUE = f',"serializeTypeCurrentRPC":"JSON","version":{VERSION_5_3_3}}}'


def encode_request(opaque: int, code: RequestCode, flag: int, ext: Mapping[str, str], *, body: bytes) -> bytes:
    """Encode a request frame of the broker."""
    return _frame(_text_before_opaque(code, flag, ext), opaque, body)


def _text_before_opaque(code: RequestCode, flag: int, ext: Mapping[str, str]) -> str:
    return f'{{"code":{code:d},"extFields":{orjson.dumps(ext).decode()},"flag":{flag},"language":"JAVA","opaque":'


def _frame(before_opaque: str, opaque: int, body: bytes = b"") -> bytes:
    header = f"{before_opaque}{opaque}{_AFTER_OPAQUE}".encode()
    size = len(header)
    return HEAD.pack(4 + size + len(body), size) + header + body


def encode_effect(opaque: int, effect: Effect) -> bytes:
    """Encode an effect as a request frame."""
    if isinstance(effect, NotifyConsumerIdsChanged):  # sent to all members of a group; only the opaque differs
        return _frame(_notice_before_opaque(effect.consumer_group), opaque)
    code = CODE_OF_EFFECT[type(effect)]
    ext, body = _FIELDS[type(effect)](effect)
    return encode_request(opaque, code, 0 if isinstance(effect, ServerRequest) else ONEWAY, ext, body=body)


@lru_cache(maxsize=64)
def _notice_before_opaque(group: str) -> str:
    return _text_before_opaque(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, ONEWAY, {"consumerGroup": group})


def _check_transaction(effect: CheckTransactionState) -> tuple[dict[str, str], bytes]:
    ext = {
        "bname": effect.broker_name,
        "commitLogOffset": str(effect.commit_log_offset),
        "topic": effect.topic,
        "msgId": effect.msg_id,
        "tranStateTableOffset": str(effect.tran_state_table_offset),
        "offsetMsgId": effect.offset_msg_id,
        "transactionId": effect.transaction_id,
    }
    return ext, effect.record


def _push_reply(effect: PushReplyMessage) -> tuple[dict[str, str], bytes]:
    ext = {
        "queueId": str(effect.queue_id),
        "flag": str(effect.flag),
        "sysFlag": str(effect.sys_flag),
        "reconsumeTimes": str(effect.reconsume_times),
        "storeTimestamp": str(effect.store_timestamp),
        "unitMode": "true" if effect.unit_mode else "false",
        "defaultTopic": effect.default_topic,
        "bornHost": host_text(effect.born_host),
        "defaultTopicQueueNums": str(effect.default_topic_queue_nums),
        "producerGroup": effect.producer_group,
        "topic": effect.topic,
        "bornTimestamp": str(effect.born_timestamp),
        "storeHost": host_text(effect.store_host),
        "properties": effect.properties,
    }
    return ext, effect.body


def _forwarded_request(effect: RequestRunningInfo | RequestConsumerStatus) -> tuple[dict[str, str], bytes]:
    return dict(effect.ext_fields), b""


def _consume_directly(effect: RequestDirectConsumption) -> tuple[dict[str, str], bytes]:
    return dict(effect.ext_fields), effect.record


def _reset_offset(effect: ResetConsumerOffset) -> tuple[dict[str, str], bytes]:
    ext = {
        "group": effect.group,
        "topic": effect.topic,
        "queueId": "-1",
        "timestamp": str(effect.timestamp),
        "isForce": "false",
    }
    queues = [
        (MessageQueue(effect.topic, effect.broker_name, queue_id), offset)
        for queue_id, offset in effect.offsets.items()
    ]
    if effect.as_list:
        return ext, dumps({"offsetTable": [{**message_queue(queue), "offset": offset} for queue, offset in queues]})
    return ext, dumps({"offsetTable": queue_map(queues)})


_FIELDS: Mapping[type[Effect], Callable[..., tuple[dict[str, str], bytes]]] = {
    CheckTransactionState: _check_transaction,
    PushReplyMessage: _push_reply,
    RequestRunningInfo: _forwarded_request,
    RequestDirectConsumption: _consume_directly,
    RequestConsumerStatus: _forwarded_request,
    ResetConsumerOffset: _reset_offset,
}
