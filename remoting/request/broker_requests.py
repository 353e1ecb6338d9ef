"""Encode server-initiated requests: effects of the engine become request frames for a client.

The header is always JSON. Opaque values come from the broker's own counter. Source: Broker2Client (5.3.3).
"""

from collections.abc import Callable, Mapping

import orjson
from rocketmq_testkit.emulator.gate.effects import (
    AskConsumerStatus,
    AskRunningInfo,
    AskToConsume,
    CheckTransactionState,
    Effect,
    NotifyConsumerIdsChanged,
    PushReplyMessage,
    Question,
    ResetConsumerOffset,
)
from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.emulator.operations import MessageQueue

from ..bodies.writing import dumps, message_queue, queue_map
from ..wire.answer_frame import HEAD
from ..wire.command import ONEWAY, VERSION_5_3_3
from .request_code import RequestCode

PUSHED: Mapping[type[Effect], RequestCode] = {
    NotifyConsumerIdsChanged: RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
    CheckTransactionState: RequestCode.CHECK_TRANSACTION_STATE,
    PushReplyMessage: RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
    AskRunningInfo: RequestCode.GET_CONSUMER_RUNNING_INFO,
    AskToConsume: RequestCode.CONSUME_MESSAGE_DIRECTLY,
    AskConsumerStatus: RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
    ResetConsumerOffset: RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
}
"""The request code of each effect."""

QUESTIONS = frozenset(code for effect, code in PUSHED.items() if issubclass(effect, Question))
"""Codes of the requests to which the client responds. All others are oneway."""


def request(opaque: int, code: RequestCode, flag: int, ext: Mapping[str, str], body: bytes = b"") -> bytes:
    """Encode a request frame of the broker."""
    header = (
        f'{{"code":{code:d},"extFields":{orjson.dumps(ext).decode()},"flag":{flag},"language":"JAVA",'
        f'"opaque":{opaque},"serializeTypeCurrentRPC":"JSON","version":{VERSION_5_3_3}}}'
    ).encode()
    size = len(header)
    return HEAD.pack(4 + size + len(body), size) + header + body


def encode(opaque: int, effect: Effect) -> bytes:
    """Encode an effect as a request frame."""
    code = PUSHED[type(effect)]
    ext, body = _FIELDS[type(effect)](effect)
    return request(opaque, code, 0 if isinstance(effect, Question) else ONEWAY, ext, body)


def host_text(host: tuple[str, int]) -> str:
    """Return `address:port`. As in Java, an IPv6 address has no brackets."""
    return f"{host[0]}:{host[1]}"


def _ids_changed(effect: NotifyConsumerIdsChanged) -> tuple[dict[str, str], bytes]:
    return {"consumerGroup": effect.consumer_group}, b""


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
        "reconsumeTimes": "0",
        "storeTimestamp": str(effect.store_timestamp),
        "unitMode": "false",
        "defaultTopic": AUTO_CREATE_TOPIC,
        "bornHost": host_text(effect.born_host),
        "defaultTopicQueueNums": "4",
        "producerGroup": effect.producer_group,
        "topic": effect.topic,
        "bornTimestamp": str(effect.born_timestamp),
        "storeHost": host_text(effect.store_host),
        "properties": effect.properties,
    }
    return ext, effect.body


def _question(effect: AskRunningInfo | AskConsumerStatus) -> tuple[dict[str, str], bytes]:
    return dict(effect.ext_fields), b""


def _to_consume(effect: AskToConsume) -> tuple[dict[str, str], bytes]:
    return dict(effect.ext_fields), effect.record


def _reset(effect: ResetConsumerOffset) -> tuple[dict[str, str], bytes]:
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
    NotifyConsumerIdsChanged: _ids_changed,
    CheckTransactionState: _check_transaction,
    PushReplyMessage: _push_reply,
    AskRunningInfo: _question,
    AskToConsume: _to_consume,
    AskConsumerStatus: _question,
    ResetConsumerOffset: _reset,
}
