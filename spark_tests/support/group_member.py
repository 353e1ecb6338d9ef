"""Members of a consumer group that behave like SDKs: heartbeat, rebalance, pull, commit, unregister."""

import json
import time
from types import TracebackType
from typing import Self

from real_broker import RealBroker
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

SECONDS = 30.0
_SUBSCRIPTION_IN_REQUEST = 4


class Member:
    """One consumer of a topic, which joins its group at the start of the block and leaves it at the end."""

    def __init__(self, place: Emulator | RealBroker, group: str, topic: str, queues: int, name: str) -> None:
        self._client = RemotingClient(place.broker, timeout=SECONDS)
        self._group = group
        self._topic = topic
        self._queues = queues
        self._name = name
        self._own: list[int] = []

    def __enter__(self) -> Self:
        told = {"topic": self._topic, "subString": "*", "expressionType": "TAG", "subVersion": int(time.time() * 1000)}
        group = {
            "groupName": self._group,
            "consumeType": "CONSUME_PASSIVELY",
            "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
            "unitMode": False,
            "subscriptionDataSet": [{**told, "classFilterMode": False, "tagsSet": [], "codeSet": []}],
        }
        body = {"clientID": self._name, "producerDataSet": [], "consumerDataSet": [group]}
        self._ask(RequestCode.HEART_BEAT, {}, json.dumps(body).encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ask(RequestCode.UNREGISTER_CLIENT, {"clientID": self._name, "consumerGroup": self._group})
        self._client.close()

    def rebalance(self, members: int) -> None:
        """Wait until the broker reports a group with `members` members, and take a share of the queues."""
        while True:
            push = self._client.next_push(SECONDS)
            if push.code != RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
                continue
            answer = self._ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": self._group})
            names = sorted(json.loads(answer.body)["consumerIdList"])
            if len(names) == members:
                mine = names.index(self._name)
                self._own = [queue for queue in range(self._queues) if queue % members == mine]
                return

    def take(self) -> list[bytes]:
        """Pull all messages of the member's queues after the committed offsets, and commit them."""
        found = []
        for queue in self._own:
            where = {"topic": self._topic, "queueId": queue}
            at = self._committed(where)
            while (part := self._pull(where, at)) is not None:
                bodies, at = part
                found += bodies
                self._ask(
                    RequestCode.UPDATE_CONSUMER_OFFSET, {**where, "consumerGroup": self._group, "commitOffset": at}
                )
        return found

    def _committed(self, where: dict[str, object]) -> int:
        fields = {**where, "consumerGroup": self._group, "setZeroIfNotFound": False}
        answer = self._client.request(RequestCode.QUERY_CONSUMER_OFFSET, fields)
        if answer.code == ResponseCode.QUERY_NOT_FOUND:
            return 0
        return int((answer.ext_fields or {})["offset"])

    def _pull(self, where: dict[str, object], at: int) -> tuple[list[bytes], int] | None:
        fields = {**where, "consumerGroup": self._group, "queueOffset": at, "maxMsgNums": 32}
        fields |= {"sysFlag": _SUBSCRIPTION_IN_REQUEST, "commitOffset": 0, "suspendTimeoutMillis": 0}
        fields |= {"subscription": "*", "subVersion": 0, "expressionType": "TAG"}
        answer = self._client.request(RequestCode.PULL_MESSAGE, fields)
        if answer.code != ResponseCode.SUCCESS:
            assert answer.code == ResponseCode.PULL_NOT_FOUND, answer.remark
            return None
        bodies = [message.body for message in decode_messages(answer.body)]
        return bodies, int((answer.ext_fields or {})["nextBeginOffset"])

    def _ask(self, code: RequestCode, fields: dict[str, object], body: bytes = b"") -> RemotingCommand:
        answer = self._client.request(code, fields, body)
        assert answer.code == ResponseCode.SUCCESS, f"{code.name}: {answer.remark}"
        return answer
