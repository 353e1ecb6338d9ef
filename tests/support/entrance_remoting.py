"""Frames of the remoting protocol as an entrance, as a 5.3.3 Java client writes them."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from entrance import (
    START_MS,
    Answer,
    Asked,
    BrokerEntrance,
    Sent,
    Taken,
    attempt_in_order,
    known_properties,
)
from entrance_engine import changed_handle, place_of
from remoting_world import Peer, Port
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.client import ReceivedMessage, batch_body, decode_messages, properties_text
from rocketmq_testkit.remoting.command import RemotingCommand
from rocketmq_testkit.remoting.request_code import RequestCode

_QUEUE_AND_VALUE = re.compile(r"(\{[^{}]*\}):(\{[^{}]*\})")


class RemotingEntrance(BrokerEntrance):
    """Real frames in front of real processors; each client and each request that may wait has its own connection."""

    name = "remoting"

    def __init__(self, config: BrokerConfig, emulation: EmulationConfig, seed: int = 1) -> None:
        super().__init__(Engine(brokers=[config], emulation=emulation, seed=seed, now_ms=START_MS))
        self._port = Port(self.engine)
        self._peers: dict[str, Peer] = {}

    def _peer(self, client: str = "consumer") -> Peer:
        if client not in self._peers:
            self._peers[client] = self._port.peer()
        return self._peers[client]

    def _ask(self, code: int, ext: Mapping[str, Any] | None = None, body: object = None) -> RemotingCommand:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._peer().ask(code, None if ext is None else _texts(ext), data)

    def _start(self, code: int, ext: Mapping[str, Any]) -> "RemotingWaiting":
        peer = self._port.peer()
        first = peer.exchange(code, _texts(ext))
        return RemotingWaiting(peer, first, self.broker.name, order=ext.get("order") is True)

    def pop(
        self,
        topic: str = "T",
        *,
        group: str = "G",
        client: str = "consumer",
        count: int = 32,
        invisible_ms: int = 10_000,
        poll_ms: int = 0,
        order: bool = False,
        attempt: str | None = None,
        expression: str = "*",
        kind: str = "TAG",
        queue: int = -1,
        begin: int = 1,
    ) -> "RemotingWaiting":
        ext: dict[str, Any] = {
            "consumerGroup": group,
            "topic": topic,
            "queueId": queue,
            "maxMsgNums": count,
            "invisibleTime": invisible_ms,
            "pollTime": poll_ms,
            "bornTime": self.now_ms,
            "initMode": begin,
            "expType": kind,
            "exp": expression,
            "order": order,
        }
        return self._start(RequestCode.POP_MESSAGE, ext | ({} if attempt is None else {"attemptId": attempt}))

    def ack(self, *handles: str, topic: str = "T", group: str = "G") -> Answer:
        if len(handles) > 1:
            body = {"brokerName": self.broker.name, "acks": [_batch(handle, topic, group) for handle in handles]}
            return _answer(self._ask(RequestCode.BATCH_ACK_MESSAGE, {}, body))
        return _answer(self._ask(RequestCode.ACK_MESSAGE, _place(handles[0], topic, group)))

    def change(self, handle: str, invisible_ms: int, *, topic: str = "T", group: str = "G") -> Answer:
        ext = _place(handle, topic, group) | {"invisibleTime": invisible_ms}
        answer = self._ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, ext)
        if answer.code != 0:
            return _answer(answer)
        given = {name: int(value) for name, value in (answer.ext_fields or {}).items()}
        new = changed_handle(handle, given["popTime"], given["invisibleTime"], given["reviveQid"])
        return Answer(True, 0, "", handle=new)

    def put(
        self,
        body: bytes = b"0",
        *,
        topic: str = "T",
        tag: str = "",
        keys: str = "",
        message_group: str = "",
        queue: int = 0,
        deliver_ms: int | None = None,
        half: bool = False,
        immune_s: int | None = None,
        **properties: str,
    ) -> Sent:
        unique = f"ID{next(self._names)}"
        given = known_properties(unique, topic, tag, keys, message_group, deliver_ms, half, immune_s) | properties
        return self._sent(RequestCode.SEND_MESSAGE_V2, topic, body, given, a=topic, e=queue, f=4 if half else 0)

    def _sent(self, code: int, topic: str, body: bytes, properties: dict[str, str], **fields: object) -> Sent:
        ext = {"a": "PG", "b": topic, "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": self.now_ms, "h": 0}
        answer = self._ask(code, {**ext, "i": properties_text(properties), **fields}, body)
        if answer.code != 0:
            return Sent(False, answer.code, answer.remark or "")
        told = answer.ext_fields or {}
        place = int(told["msgId"][-16:], 16)
        unique, handle = told.get("transactionId", ""), told.get("recallHandle", "")
        return Sent(True, 0, "", unique, int(told["queueOffset"]), place, handle)

    def together(self, *parts: tuple[bytes, dict[str, str]], topic: str = "T") -> Sent:
        return self.batch(*parts, topic=topic)

    def end(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> Answer | None:
        ext = {
            "topic": topic,
            "producerGroup": topic,
            "tranStateTableOffset": sent.offset,
            "commitLogOffset": sent.place,
            "commitOrRollback": how,
            "fromTransactionCheck": checked,
            "msgId": sent.id,
            "transactionId": sent.id,
        }
        came = self._peer().exchange(RequestCode.END_TRANSACTION, _texts(ext))
        assert len(came) <= 1, came
        return _answer(came[0]) if came else None

    def recall(self, handle: str, topic: str = "T") -> Answer:
        ext = {"producerGroup": "PG", "topic": topic, "recallHandle": handle}
        answer = self._ask(RequestCode.RECALL_MESSAGE, ext)
        if answer.code != 0:
            return _answer(answer)
        return Answer(True, 0, "", handle=(answer.ext_fields or {})["msgId"])

    def produce(self, client: str, topic: str = "T") -> None:
        body = json.dumps({"clientID": client, "producerDataSet": [{"groupName": topic}]}).encode()
        assert self._peer(client).ask(RequestCode.HEART_BEAT, {}, body).code == 0

    def retire(self, client: str, topic: str = "T") -> None:
        ext = {"clientID": client, "producerGroup": topic}
        assert self._peer(client).ask(RequestCode.UNREGISTER_CLIENT, ext).code == 0

    def asked(self, client: str) -> list[Asked]:
        pushes = self._peer(client).received()
        return [_asked(each) for each in pushes if each.code == RequestCode.CHECK_TRANSACTION_STATE]

    def give_up(self, message: Taken, *, topic: str = "T", group: str = "G") -> Answer:
        answer = self.send_back(message.place, -1, group=group, most=0)
        return self.ack(message.handle, topic=topic, group=group) if answer.ok else answer

    def send_back(self, place: int, level: int = 0, *, group: str = "G", most: int | None = None) -> Answer:
        ext = {"offset": place, "group": group, "delayLevel": level, "originMsgId": "none", "originTopic": "none"}
        return _answer(self._ask(RequestCode.CONSUMER_SEND_MSG_BACK, ext | _limit("maxReconsumeTimes", most)))

    def again(
        self, body: bytes = b"0", *, group: str = "G", times: int = 0, most: int | None = None, **properties: str
    ) -> Sent:
        given = {"UNIQ_KEY": f"ID{next(self._names)}"} | properties
        fields = {"j": times, **_limit("l", most)}
        return self._sent(RequestCode.SEND_MESSAGE_V2, f"%RETRY%{group}", body, given, **fields)

    def batch(
        self, *parts: tuple[bytes, dict[str, str]], topic: str = "T", half: bool = False, **properties: str
    ) -> Sent:
        fields = {"f": 4 if half else 0, "m": True}
        return self._sent(RequestCode.SEND_BATCH_MESSAGE, topic, batch_body(parts), properties, **fields)

    def pop_one_queue(
        self, queue: int, *, poll_ms: int = 0, count: int = 32, order: bool = False, begin: int = 1
    ) -> "RemotingWaiting":
        return self.pop(queue=queue, poll_ms=poll_ms, count=count, order=order, begin=begin)

    def pull(
        self, offset: int, *, suspend_ms: int | None = None, expression: str = "*", kind: str = "TAG"
    ) -> "RemotingWaiting":
        ext = {
            "consumerGroup": "G",
            "topic": "T",
            "queueId": 0,
            "queueOffset": offset,
            "maxMsgNums": 32,
            "sysFlag": 4 if suspend_ms is None else 6,
            "commitOffset": 0,
            "suspendTimeoutMillis": suspend_ms or 0,
            "subscription": expression,
            "subVersion": 0,
            "expressionType": kind,
        }
        return self._start(RequestCode.PULL_MESSAGE, ext)

    def notify(self, *, poll_ms: int = 0, queue: int = -1, order: bool = False) -> "RemotingWaiting":
        ext = {"consumerGroup": "G", "topic": "T", "queueId": queue, "pollTime": poll_ms, "bornTime": self.now_ms}
        return self._start(RequestCode.NOTIFICATION, ext | {"order": order})

    def peek(self, count: int = 32) -> Answer:
        ext = {"consumerGroup": "G", "topic": "T", "queueId": -1, "maxMsgNums": count}
        answer = self._ask(RequestCode.PEEK_MESSAGE, ext)
        messages = [_taken(message, "") for message in _messages(answer)]
        return Answer(answer.code == 0, answer.code, answer.remark or "", messages)

    def polling_number(self, queue: int = -1) -> int:
        answer = self._ask(RequestCode.POLLING_INFO, {"consumerGroup": "G", "topic": "T", "queueId": queue})
        return int((answer.ext_fields or {})["pollingNum"])

    def lock(self, client: str, *queues: int) -> list[int]:
        answer = self._ask(RequestCode.LOCK_BATCH_MQ, {}, self._lock_body(client, queues))
        return sorted(each["queueId"] for each in json.loads(answer.body)["lockOKMQSet"])

    def unlock(self, client: str, *queues: int) -> None:
        assert self._ask(RequestCode.UNLOCK_BATCH_MQ, {}, self._lock_body(client, queues)).code == 0

    def _lock_body(self, client: str, queues: tuple[int, ...]) -> dict[str, object]:
        members = [{"brokerName": self.broker.name, "queueId": queue, "topic": "T"} for queue in queues]
        return {"consumerGroup": "G", "clientId": client, "mqSet": members}

    def beat(self, client: str, group: str = "G", topic: str = "T") -> None:
        consumer = {
            "groupName": group,
            "consumeType": "CONSUME_PASSIVELY",
            "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
            "subscriptionDataSet": [{"topic": topic, "subString": "*", "subVersion": 1}],
        }
        body = json.dumps({"clientID": client, "consumerDataSet": [consumer]}).encode()
        # The others are told in the same moment, and this client before its own answer.
        assert self._peer(client).exchange(RequestCode.HEART_BEAT, {}, body)[-1].code == 0

    def leave(self, client: str, group: str = "G") -> None:
        ext = {"clientID": client, "consumerGroup": group}
        assert self._peer(client).exchange(RequestCode.UNREGISTER_CLIENT, ext)[-1].code == 0

    def request_mode(self, mode: str, share: int) -> None:
        body = {"topic": "T", "consumerGroup": "G", "mode": mode, "popShareQueueNum": share}
        assert self._ask(RequestCode.SET_MESSAGE_REQUEST_MODE, None, body).code == 0

    def assigned(self, client: str, strategy: str = "AVG", model: str = "CLUSTERING") -> list[tuple[int, str]] | None:
        body = {
            "topic": "T",
            "consumerGroup": "G",
            "clientId": client,
            "strategyName": strategy,
            "messageModel": model,
        }
        answer = self._ask(RequestCode.QUERY_ASSIGNMENT, None, body)
        found = json.loads(answer.body).get("messageQueueAssignments")
        if found is None:
            return None
        return sorted((each["messageQueue"]["queueId"], each["mode"]) for each in found)

    def progress(self) -> dict[int, tuple[int, int]]:
        answer = self._ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "G", "topic": "T"})
        # fastjson writes the queues as keys, objects as they are.
        found = _QUEUE_AND_VALUE.findall(answer.body.decode())
        pairs = [(json.loads(queue), json.loads(value)) for queue, value in found]
        return {
            queue["queueId"]: (value["brokerOffset"], value["consumerOffset"])
            for queue, value in pairs
            if queue["topic"] == "T"
        }


class RemotingWaiting:
    """A request on a connection of its own."""

    def __init__(self, peer: Peer, first: list[RemotingCommand], broker_name: str, *, order: bool) -> None:
        self._peer = peer
        self._came = first
        self._broker_name = broker_name
        self._order = order

    @property
    def answer(self) -> Answer | None:
        """The only frame that came."""
        self._came += self._peer.received()
        assert len(self._came) <= 1, self._came
        if not self._came:
            return None
        command = self._came[0]
        fields = command.ext_fields or {}
        if "hasMsg" in fields:
            full = "polling full" if fields["pollingFull"] == "true" else ""
            return Answer(command.code == 0, command.code, full, number=int(fields["hasMsg"] == "true"))
        messages = _messages(command)
        if fields.get("msgOffsetInfo") is None:
            number = int(fields.get("nextBeginOffset") or 0)
            return Answer(
                command.code == 0, command.code, command.remark or "", [_taken(each, "") for each in messages],
                number=number,
            )  # fmt: skip
        taken = [self._popped(message, fields, each) for message, each in zip(messages, _places(fields), strict=True)]
        return Answer(command.code == 0, command.code, command.remark or "", taken, number=int(fields["restNum"]))

    def _popped(self, message: ReceivedMessage, fields: dict[str, str], place: tuple[str, int, int]) -> Taken:
        """The handle is made as clients make it; what comes from a retry topic has it as a property as well."""
        digit, queue, offset = place
        starts = {tuple(part.split(" ")[:2]): part.split(" ")[2] for part in fields["startOffsetInfo"].split(";")}
        handle = " ".join(
            (
                starts[digit, str(queue)],
                fields["popTime"],
                fields["invisibleTime"],
                fields["reviveQid"],
                digit,
                self._broker_name,
                str(queue),
                str(offset),
            )
        )
        assert message.properties.get("POP_CK", handle) == handle
        again = attempt_in_order(fields.get("orderCountInfo"), queue, offset) if self._order else 0
        return _taken(message, handle, again)


def _limit(name: str, most: int | None) -> dict[str, int]:
    return {} if most is None else {name: most}


def _texts(ext: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: ("true" if value else "false") if isinstance(value, bool) else str(value) for name, value in ext.items()
    }


def _answer(command: RemotingCommand) -> Answer:
    remark = "" if command.remark in (None, "not set any response code") else command.remark
    return Answer(command.code == 0, command.code, remark or "")


def _messages(command: RemotingCommand) -> list[ReceivedMessage]:
    return decode_messages(command.body) if command.code == 0 else []


def _places(fields: dict[str, str]) -> list[tuple[str, int, int]]:
    parts = [part.split(" ") for part in fields["msgOffsetInfo"].split(";") if part]
    return [(digit, int(queue), int(offset)) for digit, queue, offsets in parts for offset in offsets.split(",")]


def _taken(message: ReceivedMessage, handle: str, again: int = 0) -> Taken:
    return Taken(
        message.body,
        handle,
        message.reconsume_times + again,
        message.queue_id,
        message.queue_offset,
        message.message_id,
        message.tag or "",
        tuple(message.keys),
        message.physical_offset,
    )


def _asked(check: RemotingCommand) -> Asked:
    fields = check.ext_fields or {}
    offset, place = int(fields["tranStateTableOffset"]), int(fields["commitLogOffset"])
    (message,) = decode_messages(check.body)
    times = int(message.properties["TRANSACTION_CHECK_TIMES"])
    return Asked(message.body, times, Sent(True, 0, "", fields["transactionId"], offset, place))


def _place(handle: str, topic: str, group: str) -> dict[str, object]:
    real, queue, offset = place_of(handle, topic, group)
    return {"consumerGroup": group, "topic": real, "queueId": queue, "extraInfo": handle, "offset": offset}


def _batch(handle: str, topic: str, group: str) -> dict[str, object]:
    start, popped, invisible, revive, digit, _, queue, offset = handle.split(" ")
    bits = 1 << int(offset) - int(start)
    return {
        "b": b64encode(bits.to_bytes(bits.bit_length() // 8 + 1, "little")).decode(),
        "c": group,
        "it": int(invisible),
        "pt": int(popped),
        "q": int(queue),
        "r": digit,
        "rq": int(revive),
        "so": int(start),
        "t": topic,
    }
