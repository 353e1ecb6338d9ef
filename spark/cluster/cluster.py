"""Topics, queues and offsets of a cluster, read from its name servers and brokers.

Source: MQClientInstance, MQClientAPIImpl (5.3.3).
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.remoting.client import ConnectionLost
from rocketmq_testkit.remoting.client.closeable import Closeable
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ..errors import ClusterError
from ..options.offsets import MessageQueue, Offsets
from ..options.options import ConnectionOptions
from .connections import LOST, ClusterConnections, TemporaryError, reason

PERM_READ = 4
PERM_WRITE = 2
MASTER = "0"

BUSY = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE, ResponseCode.GO_AWAY})
"""Response codes after which the same request may succeed a little later."""

_CREDENTIALS_TEXTS = re.compile(
    "AclException|check signature|User:|username|has no permission to access|Authentication"
)

_NUMBER_KEY = re.compile(r"([{,])(-?\d+):")


@dataclass(frozen=True)
class Route:
    """Route of a topic: addresses of brokers by name, readable and writable queues."""

    addresses: Mapping[str, str]
    readable: tuple[MessageQueue, ...]
    writable: tuple[MessageQueue, ...]


class Cluster(Closeable):
    """A client of a cluster's name servers and brokers. All methods raise ClusterError."""

    def __init__(self, options: ConnectionOptions) -> None:
        self.connections = ClusterConnections(options)
        self._options = options
        self.addresses: dict[str, str] = {}
        """Addresses of the brokers in routes seen so far."""
        self._checked: set[str] = set()
        """Brokers that support the filter of the options."""

    def close(self) -> None:
        """Close all connections."""
        self.connections.close()

    def route(self, topic: str) -> Route | None:
        """Return the route of a topic, or None if no name server knows the topic."""
        response = self._request_from_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        if response.code == ResponseCode.TOPIC_NOT_EXIST:
            return None
        _expect_success(response, f"route of topic {topic}")
        found = _route(topic, _json(response.body))
        self.addresses.update(found.addresses)
        return found

    def topics(self) -> list[str]:
        """Return all topics except system topics, retry topics and dead letter queues."""
        listed = self._request_from_name_server(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {})
        _expect_success(listed, "list of topics")
        brokers = self._request_from_name_server(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, {})
        hidden = set(_json(brokers.body).get("topicList") or ()) if brokers.code == ResponseCode.SUCCESS else set()
        return sorted(
            topic
            for topic in _json(listed.body).get("topicList") or ()
            if topic not in hidden and topic not in names.SYSTEM_TOPICS and not _is_derived(topic)
        )

    def min_offsets(self, queues: Iterable[MessageQueue]) -> Offsets:
        """Return the first stored offset of each queue."""
        return self._offsets(RequestCode.GET_MIN_OFFSET, {queue: {} for queue in queues})

    def max_offsets(self, queues: Iterable[MessageQueue]) -> Offsets:
        """Return the end of each queue: the offset of its next message."""
        return self._offsets(RequestCode.GET_MAX_OFFSET, {queue: {} for queue in queues})

    def offsets_at(self, times: Mapping[MessageQueue, int]) -> Offsets:
        """Return the offset of each queue's first message stored at or after a time (ms), or the queue's end."""
        asked = {queue: {"timestamp": str(at), "boundaryType": "LOWER"} for queue, at in times.items()}
        return self._offsets(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, asked)

    def group_offsets(self, group: str, queues: Iterable[MessageQueue]) -> Offsets:
        """Return the committed offsets of a group; queues without one are left out."""
        fields = {"consumerGroup": group, "setZeroIfNotFound": "false"}
        return self._offsets(RequestCode.QUERY_CONSUMER_OFFSET, dict.fromkeys(queues, fields))

    def commit(self, group: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Commit the offsets of a group.

        If a group's first offsets of a topic arrive concurrently, a broker loses some of them. So one offset per broker
        and topic is committed first. Source: ConsumerOffsetManager.commitOffset (5.3.3).
        """
        ahead = set({(queue.broker, queue.topic): queue for queue in offsets}.values())
        self._commit(group, {queue: offset for queue, offset in offsets.items() if queue in ahead})
        self._commit(group, {queue: offset for queue, offset in offsets.items() if queue not in ahead})

    def _commit(self, group: str, offsets: Mapping[MessageQueue, int]) -> None:
        code = RequestCode.UPDATE_CONSUMER_OFFSET
        asked = {queue: {"consumerGroup": group, "commitOffset": str(offset)} for queue, offset in offsets.items()}
        for queue, response in self._request_from_brokers(code, asked).items():
            _expect_success(response, f"offset of group {group} for {queue}")

    def check_expression(self, queues: Iterable[MessageQueue], group: str, expression: str) -> None:
        """Make the brokers of some queues check an SQL92 expression.

        A pull with an invalid or unsupported expression would return all messages. Raises ClusterError. Source:
        MQClientInstance.checkClientInBroker, PullMessageProcessor (5.3.3).
        """
        bodies = {}
        for queue in {queue.broker: queue for queue in queues if queue.broker not in self._checked}.values():
            wanted = {"topic": queue.topic, "subString": expression, "expressionType": "SQL92"}
            body = {"clientId": f"{group}@spark", "group": group, "subscriptionData": wanted}
            bodies[queue] = json.dumps(body).encode()
        responses = self._request_from_brokers(RequestCode.CHECK_CLIENT_CONFIG, {queue: {} for queue in bodies}, bodies)
        for queue, response in responses.items():
            _expect_success(response, f"option subExpression: broker {queue.broker} does not accept it")
            self._checked.add(queue.broker)

    def address(self, broker: str) -> str:
        """Return the address of a broker that a route has named."""
        found = self.addresses.get(broker)
        if found is None:
            raise ClusterError(
                f"no route names broker {broker}; known are {', '.join(sorted(self.addresses)) or 'none'}"
            )
        return found

    def _offsets(self, code: RequestCode, asked: Mapping[MessageQueue, Mapping[str, str]]) -> Offsets:
        found = {}
        for queue, response in self._request_from_brokers(code, asked).items():
            if response.code == ResponseCode.QUERY_NOT_FOUND and code is RequestCode.QUERY_CONSUMER_OFFSET:
                continue
            _expect_success(response, f"{code.name} of {queue}")
            found[queue] = int((response.ext_fields or {})["offset"])
        return found

    def _request_from_brokers(
        self,
        code: RequestCode,
        asked: Mapping[MessageQueue, Mapping[str, str]],
        bodies: Mapping[MessageQueue, bytes] | None = None,
    ) -> dict[MessageQueue, RemotingCommand]:
        """Send one request for each queue; all requests to a broker are in flight at once."""
        bodies = bodies or {}
        by_broker: dict[str, list[MessageQueue]] = {}
        for queue in asked:
            by_broker.setdefault(queue.broker, []).append(queue)
        found: dict[MessageQueue, RemotingCommand] = {}
        for broker, queues in by_broker.items():
            requests = [
                ({"topic": queue.topic, "queueId": str(queue.queue_id), **asked[queue]}, bodies.get(queue, b""))
                for queue in queues
            ]
            responses = self.connections.with_retries(
                f"broker {broker} at {self.address(broker)} did not answer {code.name}",
                lambda broker=broker, requests=requests: self._at_broker(broker, code, requests),  # type: ignore[misc]  # bound as a default
            )
            found.update(zip(queues, responses, strict=True))
        return found

    def _at_broker(
        self, broker: str, code: RequestCode, requests: list[tuple[Mapping[str, object], bytes]]
    ) -> list[RemotingCommand]:
        address = self.address(broker)
        try:
            client = self.connections.to(address)
            responses = [client.collect(opaque) for opaque in client.submit_many(code, requests)]
        except LOST:
            self.connections.drop(address)
            raise
        _raise_if_busy(responses)
        return responses

    def _request_from_name_server(self, code: RequestCode, fields: Mapping[str, object]) -> RemotingCommand:
        addresses = self._options.name_server

        def any_of_them() -> RemotingCommand:
            failures = []
            for address in addresses:
                try:
                    response = self.connections.to(address).request(code, fields)
                except LOST as error:
                    self.connections.drop(address)
                    failures.append(f"{address} ({self._reason(error)})")
                    continue
                _raise_if_busy([response])
                if response.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                    raise ClusterError(
                        f"option nameServer: {address} is no name server; it says {describe_error(response)}"
                    )
                return response
            raise TemporaryError(", ".join(failures))

        return self.connections.with_retries(f"no name server of option nameServer answers {code.name}", any_of_them)

    def _reason(self, error: BaseException) -> str:
        """Return the reason for an error; a server that requires TLS just closes the connection."""
        may_need_tls = isinstance(error, ConnectionLost) and not self._options.tls
        return f"{reason(error)}; if it requires TLS, use tls=true" if may_need_tls else reason(error)


def _route(topic: str, data: Mapping[str, Any]) -> Route:
    addresses = {}
    masters = set()
    for broker in data.get("brokerDatas") or ():
        known = {str(id_): str(address) for id_, address in (broker.get("brokerAddrs") or {}).items()}
        if MASTER in known:
            masters.add(broker["brokerName"])
        if known:
            # Without a master its slaves still have messages to read; the lowest id is tried first.
            addresses[str(broker["brokerName"])] = known[min(known, key=int)]
    readable, writable = [], []
    for each in data.get("queueDatas") or ():
        name = str(each["brokerName"])
        if name not in addresses:
            continue
        if each["perm"] & PERM_READ:
            readable += [MessageQueue(topic, name, id_) for id_ in range(each["readQueueNums"])]
        if each["perm"] & PERM_WRITE and name in masters:
            writable += [MessageQueue(topic, name, id_) for id_ in range(each["writeQueueNums"])]
    return Route(addresses, tuple(sorted(readable)), tuple(sorted(writable)))


def _json(body: bytes) -> dict[str, Any]:
    text = body.decode()
    try:
        found = json.loads(text)
    except ValueError:
        # Name servers before 4.9.4 write broker ids as bare numbers.
        try:
            found = json.loads(_NUMBER_KEY.sub(r'\1"\2":', text))
        except ValueError as error:
            raise ClusterError(f"a name server returned a body that is not JSON ({error})") from None
    return found if isinstance(found, dict) else {}


def _is_derived(topic: str) -> bool:
    return names.is_retry_or_dlq(topic) or topic.startswith(names.SYSTEM_TOPIC_PREFIX) or topic.endswith("_REPLY_TOPIC")


def _raise_if_busy(responses: Iterable[RemotingCommand]) -> None:
    for response in responses:
        if response.code in BUSY:
            raise TemporaryError(describe_error(response))


def _expect_success(response: RemotingCommand, what: str) -> None:
    if response.code != ResponseCode.SUCCESS:
        raise ClusterError(f"{what}: {describe_error(response)}")


def describe_error(response: RemotingCommand) -> str:
    """Describe an error response in words."""
    try:
        name = ResponseCode(response.code).name
    except ValueError:
        name = "an unknown code"
    hint = " (check the options accessKey and secretKey)" if is_credentials_error(response) else ""
    return f"{name} ({response.code}){': ' + response.remark.strip() if response.remark else ''}{hint}"


def is_credentials_error(response: RemotingCommand) -> bool:
    """True if a user's credentials or permissions were rejected; the same codes also have other causes.

    Texts: DefaultAuthenticationHandler, AclAuthorizationHandler (5.3.3). Before 5.3 the text contains an exception name
    (PlainPermissionManager, 4.9.8).
    """
    codes = (ResponseCode.NO_PERMISSION, ResponseCode.SYSTEM_ERROR)
    return response.code in codes and _CREDENTIALS_TEXTS.search(response.remark or "") is not None
