"""A protocol client that exchanges frames of the remoting protocol, as a 5.3.3 Java client writes them."""

import json
from dataclasses import replace
from typing import Any

from protocol_client import BrokerProtocolClient
from protocol_values import Answer, NewMessage, PopRequest, Route, Sent, Taken, TransactionCheck, attempt_in_order
from remoting_harness import Peer, Port
from rocketmq_testkit.conformance.clients.receipt_handles import built_handle, changed_handle, place_of
from rocketmq_testkit.conformance.clients.remoting_consumption import (
    SUBSCRIPTION,
    SUSPEND,
    ack_request,
    batch_ack_entry,
    batch_ack_request,
    change_request,
    pop_request,
    pull_request,
)
from rocketmq_testkit.conformance.clients.remoting_members import (
    assignment_request,
    heartbeat_request,
    lock_request,
    mode_request,
    unregister_request,
)
from rocketmq_testkit.conformance.clients.remoting_request import RemotingRequest, request
from rocketmq_testkit.conformance.clients.remoting_response import json_of
from rocketmq_testkit.conformance.clients.remoting_sends import (
    batch_request,
    end_fields,
    send_back_request,
    send_request,
)
from rocketmq_testkit.conformance.clients.remoting_topics import route_request
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.message.stored_record import SYS_TRANSACTION_PREPARED
from rocketmq_testkit.remoting.client import ReceivedMessage, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from virtual_brokers import START_MS, Setup


class RemotingProtocolClient(BrokerProtocolClient):
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

    def _ask(self, asked: RemotingRequest) -> RemotingCommand:
        return self.peer().ask(*asked)

    def _start(self, asked: RemotingRequest, *, order: bool = False) -> "RemotingWaiting":
        peer = self._port.peer()
        return RemotingWaiting(peer, peer.exchange(*asked), self.broker.name, order=order)

    def start_pop(self, pop: PopRequest) -> "RemotingWaiting":
        asked = pop_request(
            pop.topic,
            pop.group,
            queue=pop.queue,
            max_messages=pop.count,
            invisible_ms=pop.invisible_ms,
            poll_ms=pop.poll_ms,
            init_mode=pop.begin,
            expression=pop.expression,
            type=pop.kind,
            order=pop.order,
            attempt_id=pop.attempt,
            bornTime=self.now_ms,
        )
        return self._start(asked, order=pop.order)

    def ack(self, *handles: str, topic: str = "T", group: str = "G") -> Answer:
        if len(handles) > 1:
            entries = [batch_ack_entry(topic, group, each, [place_of(each, topic, group)[2]]) for each in handles]
            return _answer(self._ask(batch_ack_request(self.broker.name, entries)))
        (handle,) = handles
        real, queue, offset = place_of(handle, topic, group)
        return _answer(self._ask(ack_request(real, group, handle, offset, queue=queue)))

    def change(self, handle: str, invisible_ms: int, *, topic: str = "T", group: str = "G") -> Answer:
        real, queue, offset = place_of(handle, topic, group)
        response = self._ask(change_request(real, group, handle, offset, invisible_ms=invisible_ms, queue=queue))
        if response.code != 0:
            return _answer(response)
        given = {name: int(value) for name, value in (response.ext_fields or {}).items()}
        new = changed_handle(handle, given["popTime"], given["invisibleTime"], given["reviveQid"])
        return Answer(True, 0, "", handle=new)

    def send_message(self, message: NewMessage) -> "RemotingSending":
        return self._sending(
            send_request(
                message.topic,
                message.body,
                born_ms=self.now_ms,
                properties=message.properties,
                queue=message.queue,
                producerGroup=message.topic,
                sysFlag=message.flags,
            )
        )

    def _sending(self, asked: RemotingRequest) -> "RemotingSending":
        peer = self._port.peer()
        return RemotingSending(peer, peer.exchange(*asked))

    def _sent(self, asked: RemotingRequest) -> Sent:
        sent = self._sending(asked).sent
        assert sent is not None, "it waits"
        return sent

    def send_batch(self, *parts: tuple[bytes, dict[str, str]], topic: str = "T") -> Sent:
        return self.send_batch_with_properties(*parts, topic=topic)

    def start_end(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> "RemotingWaiting":
        fields = end_fields(
            topic,
            how,
            offset=sent.offset,
            place=sent.place,
            message_id=sent.id,
            topic=topic,
            fromTransactionCheck=checked,
        )
        return self._start(request(RequestCode.END_TRANSACTION, fields))

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

    def order_configuration(self, topic: str = "T") -> str | None:
        found: str | None = self._route(topic).get("orderTopicConf")
        return found

    def _route(self, topic: str) -> Any:
        response = self._ask(route_request(topic))
        assert response.code in (0, 17), response
        return json.loads(response.body) if response.code == 0 else {}

    def recall(self, handle: str, topic: str = "T") -> Answer:
        fields = {"producerGroup": "PG", "topic": topic, "recallHandle": handle}
        response = self._ask(request(RequestCode.RECALL_MESSAGE, fields))
        if response.code != 0:
            return _answer(response)
        return Answer(True, 0, "", handle=(response.ext_fields or {})["msgId"])

    def register_producer(self, client: str, topic: str = "T") -> None:
        assert self.peer(client).ask(*heartbeat_request(client, producers=[topic])).code == 0

    def unregister_producer(self, client: str, topic: str = "T") -> None:
        assert self.peer(client).ask(*unregister_request(client, producers=topic)).code == 0

    def transaction_checks(self, client: str) -> list[TransactionCheck]:
        pushes = self.peer(client).received()
        return [_transaction_check(each) for each in pushes if each.code == RequestCode.CHECK_TRANSACTION_STATE]

    def forward_to_dlq(self, message: Taken, *, topic: str = "T", group: str = "G") -> Answer:
        response = self.send_back(message.place, -1, group=group, most=0)
        return self.ack(message.handle, topic=topic, group=group) if response.ok else response

    def send_back(self, place: int, level: int = 0, *, group: str = "G", most: int | None = None) -> Answer:
        return _answer(self._ask(send_back_request(group, place, level, maxReconsumeTimes=most)))

    def send_to_retry_topic(
        self, body: bytes = b"0", *, group: str = "G", times: int = 0, most: int | None = None, **properties: str
    ) -> Sent:
        given = {"UNIQ_KEY": f"ID{next(self._names)}"} | properties
        return self._sent(
            send_request(
                f"%RETRY%{group}",
                body,
                born_ms=self.now_ms,
                properties=given,
                reconsumeTimes=times,
                maxReconsumeTimes=most,
            )
        )

    def send_batch_with_properties(
        self, *parts: tuple[bytes, dict[str, str]], topic: str = "T", half: bool = False, **properties: str
    ) -> Sent:
        flags = SYS_TRANSACTION_PREPARED if half else 0
        return self._sent(batch_request(topic, parts, born_ms=self.now_ms, properties=properties, sysFlag=flags))

    def pull(
        self, offset: int, *, suspend_ms: int | None = None, expression: str = "*", kind: str = "TAG"
    ) -> "RemotingWaiting":
        flags = SUBSCRIPTION | (0 if suspend_ms is None else SUSPEND)
        more = {"expression": expression, "type": kind, "suspend_ms": suspend_ms or 0, "sysFlag": flags}
        return self._start(pull_request("T", "G", 0, offset, **more))

    def notify(self, *, poll_ms: int = 0, queue: int = -1, order: bool = False) -> "RemotingWaiting":
        fields = {"consumerGroup": "G", "topic": "T", "queueId": queue, "pollTime": poll_ms, "bornTime": self.now_ms}
        return self._start(request(RequestCode.NOTIFICATION, {**fields, "order": order}))

    def peek(self, count: int = 32) -> Answer:
        fields = {"consumerGroup": "G", "topic": "T", "queueId": -1, "maxMsgNums": count}
        response = self._ask(request(RequestCode.PEEK_MESSAGE, fields))
        messages = [_taken(message, "") for message in _messages(response)]
        return Answer(response.code == 0, response.code, response.remark or "", messages)

    def polling_number(self, queue: int = -1) -> int:
        fields = {"consumerGroup": "G", "topic": "T", "queueId": queue}
        response = self._ask(request(RequestCode.POLLING_INFO, fields))
        return int((response.ext_fields or {})["pollingNum"])

    def lock(self, client: str, *queues: int) -> list[int]:
        response = self._ask(lock_request(client, "G", "T", self.broker.name, queues=queues))
        return sorted(each["queueId"] for each in json.loads(response.body)["lockOKMQSet"])

    def unlock(self, client: str, *queues: int) -> None:
        assert self._ask(lock_request(client, "G", "T", self.broker.name, queues=queues, unlock=True)).code == 0

    def heartbeat(self, client: str, group: str = "G", topic: str = "T") -> None:
        self._say(client, heartbeat_request(client, groups={group: {topic: "*"}}, version=1))

    def unregister_consumer(self, client: str, group: str = "G") -> None:
        self._say(client, unregister_request(client, group=group))

    def _say(self, client: str, said: RemotingRequest) -> None:
        """Send a consumer's request; the broker's notifications arrive before its response."""
        *pushes, response = self.peer(client).exchange(*said)
        assert response.code == 0, response
        self._unread.setdefault((self._port, client), []).extend(pushes)

    def pushes(self, client: str) -> list[RemotingCommand]:
        """Return the server-initiated commands that a client has received since the last call."""
        return self._unread.pop((self._port, client), []) + self.peer(client).received()

    def request_mode(self, mode: str, share: int) -> None:
        assert self._ask(mode_request("T", "G", mode, share)).code == 0

    def assignments(
        self, client: str, strategy: str = "AVG", model: str = "CLUSTERING", *, group: str = "G", topic: str = "T"
    ) -> list[tuple[str, int, str]] | None:
        response = self._ask(assignment_request(topic, group, client, strategy, model=model))
        found = json.loads(response.body).get("messageQueueAssignments")
        if found is None:
            return None
        queues = [(each["messageQueue"], each["mode"]) for each in found]
        return sorted((queue["brokerName"], queue["queueId"], mode) for queue, mode in queues)

    def consume_statistics(self) -> dict[int, tuple[int, int]]:
        response = self._ask(request(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "G", "topic": "T"}))
        found = [(json.loads(queue), value) for queue, value in json_of(response.body)["offsetTable"].items()]
        return {
            queue["queueId"]: (value["brokerOffset"], value["consumerOffset"])
            for queue, value in found
            if queue["topic"] == "T"
        }


class OnlyFrame:
    """A request on a connection of its own, whose response is the only frame."""

    def __init__(self, peer: Peer, first: list[RemotingCommand]) -> None:
        self._peer = peer
        self._came = first

    def disconnect(self) -> None:
        """Close the connection, as the client."""
        self._peer.connection.closed()

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
        if (response := self.frame) is None:
            return None
        fields = response.ext_fields or {}
        if "msgId" not in fields:
            return Sent(False, response.code, response.remark or "")
        place = int(fields["msgId"][-16:], 16)
        unique, handle = fields.get("transactionId", ""), fields.get("recallHandle", "")
        return Sent(
            response.code == 0, response.code, "", unique, offset=int(fields["queueOffset"]), place=place, recall=handle
        )


class RemotingWaiting(OnlyFrame):
    """A request that may wait."""

    def __init__(self, peer: Peer, first: list[RemotingCommand], broker_name: str, *, order: bool) -> None:
        super().__init__(peer, first)
        self._broker_name = broker_name
        self._order = order

    @property
    def response(self) -> Answer | None:
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
            next_offset, suggests = (int(fields.get(name) or 0) for name in ("nextBeginOffset", "suggestWhichBrokerId"))
            return replace(_answer(command), messages=taken, number=next_offset, suggests=suggests)
        taken = [self._popped(message, fields, each) for message, each in zip(messages, _places(fields), strict=True)]
        return Answer(command.code == 0, command.code, command.remark or "", taken, number=int(fields["restNum"]))

    def _popped(self, message: ReceivedMessage, fields: dict[str, str], place: tuple[str, int, int]) -> Taken:
        """Build the receipt handle as clients do; messages of a retry topic also have it as a property."""
        digit, queue, offset = place
        handle = built_handle(message, fields, self._broker_name, digit)
        assert (message.queue_id, message.queue_offset) == (queue, offset)
        assert message.properties.get("POP_CK", handle) == handle
        again = attempt_in_order(fields.get("orderCountInfo"), queue, offset) if self._order else 0
        return _taken(message, handle, again)


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
        offset=message.queue_offset,
        message_id=message.message_id,
        tag=message.tag or "",
        keys=tuple(message.keys),
        place=message.physical_offset,
    )


def _transaction_check(check: RemotingCommand) -> TransactionCheck:
    fields = check.ext_fields or {}
    offset, place = int(fields["tranStateTableOffset"]), int(fields["commitLogOffset"])
    (message,) = decode_messages(check.body)
    times = int(message.properties["TRANSACTION_CHECK_TIMES"])
    return TransactionCheck(message.body, times, Sent(True, 0, "", fields["transactionId"], offset=offset, place=place))
