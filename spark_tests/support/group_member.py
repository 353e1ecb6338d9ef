"""Members of a consumer group that behave like SDKs: heartbeat, rebalance, pull, commit, unregister."""

import json
import time
from types import TracebackType
from typing import Self

from real_broker import RealBroker
from rocketmq_testkit.conformance.clients.remoting_consumption import commit_request, committed_request, pull_request
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request, unregister_request
from rocketmq_testkit.conformance.clients.remoting_request import RemotingRequest, request
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

SECONDS = 30.0


class Member:
    """One consumer of a topic, which joins its group at the start of the block and leaves it at the end."""

    def __init__(self, server: Emulator | RealBroker, group: str, topic: str, queues: int, *, name: str) -> None:
        self._client = RemotingClient(server.broker, timeout=SECONDS)
        self._group = group
        self._topic = topic
        self._queues = queues
        self._name = name
        self._own: list[int] = []

    def __enter__(self) -> Self:
        version = int(time.time() * 1000)
        self._ask(heartbeat_request(self._name, groups={self._group: {self._topic: "*"}}, version=version))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ask(unregister_request(self._name, group=self._group))
        self._client.close()

    def rebalance(self, members: int) -> None:
        """Wait until the broker reports a group with `members` members, and take a share of the queues."""
        while True:
            push = self._client.next_server_request(SECONDS)
            if push.code != RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
                continue
            response = self._ask(request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": self._group}))
            names = sorted(json.loads(response.body)["consumerIdList"])
            if len(names) == members:
                mine = names.index(self._name)
                self._own = [queue for queue in range(self._queues) if queue % members == mine]
                return

    def take(self) -> list[bytes]:
        """Pull all messages of the member's queues after the committed offsets, and commit them."""
        found = []
        for queue in self._own:
            at = self._committed(queue)
            while (part := self._pull(queue, at)) is not None:
                bodies, at = part
                found += bodies
                self._ask(commit_request(self._topic, self._group, at, queue))
        return found

    def _committed(self, queue: int) -> int:
        asked = committed_request(self._topic, self._group, queue, setZeroIfNotFound=False)
        response = self._client.request(*asked)
        if response.code == ResponseCode.QUERY_NOT_FOUND:
            return 0
        return int((response.ext_fields or {})["offset"])

    def _pull(self, queue: int, at: int) -> tuple[list[bytes], int] | None:
        response = self._client.request(*pull_request(self._topic, self._group, queue, at))
        if response.code != ResponseCode.SUCCESS:
            assert response.code == ResponseCode.PULL_NOT_FOUND, response.remark
            return None
        bodies = [message.body for message in decode_messages(response.body)]
        return bodies, int((response.ext_fields or {})["nextBeginOffset"])

    def _ask(self, asked: RemotingRequest) -> RemotingCommand:
        response = self._client.request(*asked)
        assert response.code == ResponseCode.SUCCESS, f"{asked.code.name}: {response.remark}"
        return response
