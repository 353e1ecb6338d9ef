"""Frames of the remoting protocol as an entrance, as a 5.3.3 Java client writes them."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from entrance import (
    START_MS,
    Answer,
    Asked,
    BrokerEntrance,
    Route,
    Sent,
    Setup,
    Taken,
    attempt_in_order,
    known_properties,
)
from entrance_engine import changed_handle, place_of
from remoting_world import Peer, Port
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.client import ReceivedMessage, batch_body, decode_messages, properties_text
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

_QUEUE_AND_VALUE = re.compile(r"(\{[^{}]*\}):(\{[^{}]*\})")


class RemotingEntrance(BrokerEntrance):
    """Real frames to real processors. Each client and each request that may wait has a connection of its own."""

    name = "remoting"

    def __init__(self, setup: Setup) -> None:
        super().__init__(Engine(brokers=setup.brokers, emulation=setup.emulation, seed=setup.seed, now_ms=START_MS))
        names = self.engine.name_server
        self._ports = {
            (broker.name, broker.broker_id): Port(self.engine, broker, names) for broker in self.engine.brokers
        }
        self._peers: dict[tuple[Port, str], Peer] = {}
        self._unread: dict[tuple[Port, str], list[RemotingCommand]] = {}

    @property
    def _port(self) -> Port:
        return self._ports[self.broker.name, self.broker.broker_id]

    def peer(self, client: str = "consumer") -> Peer:
        """Return the connection of a client to the broker."""
        key = (self._port, client)
        if key not in self._peers:
            self._peers[key] = self._port.peer()
        return self._peers[key]

    def _ask(self, code: int, ext: Mapping[str, Any] | None = None, body: object = None) -> RemotingCommand:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.peer().ask(code, None if ext is None else _texts(ext), data)

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

    def begin(
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
    ) -> "RemotingSending":
        unique = f"ID{next(self._names)}"
        given = known_properties(unique, topic, tag, keys, message_group, deliver_ms, half, immune_s) | properties
        code = RequestCode.SEND_MESSAGE_V2
        return self._sending(code, topic, body, given, a=topic, e=queue, f=4 if half else 0)

    def _sending(
        self, code: int, topic: str, body: bytes, properties: dict[str, str], **fields: object
    ) -> "RemotingSending":
        ext = {"a": "PG", "b": topic, "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": self.now_ms, "h": 0}
        peer = self._port.peer()
        return RemotingSending(
            peer, peer.exchange(code, _texts({**ext, "i": properties_text(properties), **fields}), body)
        )

    def _sent(self, code: int, topic: str, body: bytes, properties: dict[str, str], **fields: object) -> Sent:
        sent = self._sending(code, topic, body, properties, **fields).sent
        assert sent is not None, "it waits"
        return sent

    def together(self, *parts: tuple[bytes, dict[str, str]], topic: str = "T") -> Sent:
        return self.batch(*parts, topic=topic)

    def ending(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> "RemotingWaiting":
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
        return self._start(RequestCode.END_TRANSACTION, ext)

    def route(self, topic: str = "T") -> dict[str, Route]:
        found = self._route(topic)
        ids = {
            each["brokerName"]: tuple(sorted(map(int, each["brokerAddrs"]))) for each in found.get("brokerDatas", ())
        }
        return {
            each["brokerName"]: Route(
                each["readQueueNums"] if each["perm"] & 4 else 0,
                each["writeQueueNums"] if each["perm"] & 2 else 0,
                ids[each["brokerName"]],
            )
            for each in found.get("queueDatas", ())
        }

    def fixed(self, topic: str = "T") -> str | None:
        found: str | None = self._route(topic).get("orderTopicConf")
        return found

    def _route(self, topic: str) -> Any:
        answer = self._ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        assert answer.code in (0, 17), answer
        return json.loads(answer.body) if answer.code == 0 else {}

    def recall(self, handle: str, topic: str = "T") -> Answer:
        ext = {"producerGroup": "PG", "topic": topic, "recallHandle": handle}
        answer = self._ask(RequestCode.RECALL_MESSAGE, ext)
        if answer.code != 0:
            return _answer(answer)
        return Answer(True, 0, "", handle=(answer.ext_fields or {})["msgId"])

    def produce(self, client: str, topic: str = "T") -> None:
        body = json.dumps({"clientID": client, "producerDataSet": [{"groupName": topic}]}).encode()
        assert self.peer(client).ask(RequestCode.HEART_BEAT, {}, body).code == 0

    def retire(self, client: str, topic: str = "T") -> None:
        ext = {"clientID": client, "producerGroup": topic}
        assert self.peer(client).ask(RequestCode.UNREGISTER_CLIENT, ext).code == 0

    def asked(self, client: str) -> list[Asked]:
        pushes = self.peer(client).received()
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
        self._say(client, RequestCode.HEART_BEAT, {}, body)

    def leave(self, client: str, group: str = "G") -> None:
        self._say(client, RequestCode.UNREGISTER_CLIENT, {"clientID": client, "consumerGroup": group})

    def _say(self, client: str, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        """Send a consumer's request; the broker's notifications arrive before its response."""
        *pushes, answer = self.peer(client).exchange(code, ext, body)
        assert answer.code == 0, answer
        self._unread.setdefault((self._port, client), []).extend(pushes)

    def pushes(self, client: str) -> list[RemotingCommand]:
        """Return the server-initiated commands that a client has received since the last call."""
        return self._unread.pop((self._port, client), []) + self.peer(client).received()

    def request_mode(self, mode: str, share: int) -> None:
        body = {"topic": "T", "consumerGroup": "G", "mode": mode, "popShareQueueNum": share}
        assert self._ask(RequestCode.SET_MESSAGE_REQUEST_MODE, None, body).code == 0

    def assignments(
        self, client: str, strategy: str = "AVG", model: str = "CLUSTERING", *, group: str = "G", topic: str = "T"
    ) -> list[tuple[str, int, str]] | None:
        body = {
            "topic": topic,
            "consumerGroup": group,
            "clientId": client,
            "strategyName": strategy,
            "messageModel": model,
        }
        answer = self._ask(RequestCode.QUERY_ASSIGNMENT, None, body)
        found = json.loads(answer.body).get("messageQueueAssignments")
        if found is None:
            return None
        queues = [(each["messageQueue"], each["mode"]) for each in found]
        return sorted((queue["brokerName"], queue["queueId"], mode) for queue, mode in queues)

    def progress(self) -> dict[int, tuple[int, int]]:
        answer = self._ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "G", "topic": "T"})
        # fastjson writes the queues as keys, and these are JSON objects.
        found = _QUEUE_AND_VALUE.findall(answer.body.decode())
        pairs = [(json.loads(queue), json.loads(value)) for queue, value in found]
        return {
            queue["queueId"]: (value["brokerOffset"], value["consumerOffset"])
            for queue, value in pairs
            if queue["topic"] == "T"
        }


class OnlyFrame:
    """A request on a connection of its own, whose response is the only frame."""

    def __init__(self, peer: Peer, first: list[RemotingCommand]) -> None:
        self._peer = peer
        self._came = first

    @property
    def frame(self) -> RemotingCommand | None:
        """The response frame, None while there is none."""
        self._came += self._peer.received()
        assert len(self._came) <= 1, self._came
        return self._came[0] if self._came else None


class RemotingSending(OnlyFrame):
    """A send."""

    @property
    def sent(self) -> Sent | None:
        """The result of the send; it holds offsets and id even if the code is an error."""
        if (answer := self.frame) is None:
            return None
        told = answer.ext_fields or {}
        if "msgId" not in told:
            return Sent(False, answer.code, answer.remark or "")
        place = int(told["msgId"][-16:], 16)
        unique, handle = told.get("transactionId", ""), told.get("recallHandle", "")
        return Sent(answer.code == 0, answer.code, "", unique, int(told["queueOffset"]), place, handle)


class RemotingWaiting(OnlyFrame):
    """A request that may wait."""

    def __init__(self, peer: Peer, first: list[RemotingCommand], broker_name: str, *, order: bool) -> None:
        super().__init__(peer, first)
        self._broker_name = broker_name
        self._order = order

    @property
    def answer(self) -> Answer | None:
        """The response, None while the request waits."""
        if (command := self.frame) is None:
            return None
        fields = command.ext_fields or {}
        if "hasMsg" in fields:
            full = "polling full" if fields["pollingFull"] == "true" else ""
            return Answer(command.code == 0, command.code, full, number=int(fields["hasMsg"] == "true"))
        messages = _messages(command)
        if fields.get("msgOffsetInfo") is None:
            taken = [_taken(each, "") for each in messages]
            goes_on, suggests = (int(fields.get(name) or 0) for name in ("nextBeginOffset", "suggestWhichBrokerId"))
            return replace(_answer(command), messages=taken, number=goes_on, suggests=suggests)
        taken = [self._popped(message, fields, each) for message, each in zip(messages, _places(fields), strict=True)]
        return Answer(command.code == 0, command.code, command.remark or "", taken, number=int(fields["restNum"]))

    def _popped(self, message: ReceivedMessage, fields: dict[str, str], place: tuple[str, int, int]) -> Taken:
        """Build the receipt handle as clients do; messages of a retry topic also have it as a property."""
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
