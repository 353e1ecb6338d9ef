"""Admin requests that the broker forwards to connected consumers; it returns their responses to the administrator.

Source: AdminBrokerProcessor.callConsumer, Broker2Client.getConsumeStatus (5.3.3).
"""

from collections.abc import Callable
from functools import partial

from ..assembly.broker_context import Complete
from ..assembly.handlers import handles
from ..config import BrokerConfig
from ..gate.call import Call, Outcome
from ..gate.effects import RequestConsumerStatus, RequestDirectConsumption, RequestRunningInfo, ServerRequest
from ..group.broker_tables import BrokerTables
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.timer_kind import TimerKind
from ..message import stored_record as records
from ..operations.base import PARKED, Operation, Parked
from ..operations.clients import (
    ClientResponse,
    ConsumeMessageDirectly,
    ConsumerStatusResult,
    GetConsumerRunningInfo,
    GetConsumerStatus,
)
from ..operations.send import ClientResponded
from ..store.refusals import raw_bytes_at
from .client_registry import ClientRegistry, Member
from .client_versions import VERSION_3_0_7, VERSION_3_1_8, checked_version_text, unsupported
from .server_requests import ServerRequests

RELAY_TIMEOUT_MS = 10_000
"""The time for which the broker waits for a consumer's response to a forwarded request."""
STATUS_TIMEOUT_MS = 5_000
"""The time for which the broker waits for the offsets of each consumer."""


class ConsumerRequests:
    """Handlers of admin requests for the consumers of one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        tables: BrokerTables,
        clients: ClientRegistry,
        server_requests: ServerRequests,
        complete: Complete,
    ) -> None:
        self._config = config
        self._store = tables.store
        self._topics = tables.topics
        self._groups = tables.groups
        self._clients = clients
        self._server_requests = server_requests
        self._complete = complete

    @handles(GetConsumerRunningInfo)
    def running_info(self, call: Call, operation: GetConsumerRunningInfo) -> Parked:
        """Request the running info of a consumer. Raises as `_relay` does."""
        ext = operation.ext_fields
        return self._relay(
            call,
            operation,
            operation.consumer_group,
            operation.client_id,
            make_request=lambda ticket: RequestRunningInfo(ext, ticket),
        )

    @handles(ConsumeMessageDirectly)
    def consume_directly(self, call: Call, operation: ConsumeMessageDirectly) -> Parked:
        """Request that a consumer processes a stored message. Raises SYSTEM_ERROR (no such message); see `_relay`."""
        ext = {**operation.ext_fields, "brokerName": self._config.broker_name}
        topic = self._topics.find(operation.topic) if operation.topic else None
        if topic is not None:
            ext["topicSysFlag"] = str(topic.topic_sys_flag)
        group = self._groups.find_or_create(operation.consumer_group) if operation.consumer_group else None
        if group is not None:
            ext["groupSysFlag"] = str(group.group_sys_flag)
        record = self._record(operation.message_id)
        return self._relay(
            call,
            operation,
            operation.consumer_group,
            operation.client_id,
            make_request=lambda ticket: RequestDirectConsumption(ext, record, ticket),
        )

    @handles(GetConsumerStatus)
    def status(self, call: Call, operation: GetConsumerStatus) -> ConsumerStatusResult | Parked:
        """Request the offsets of a group's consumers on a topic, by client; clients that do not respond are left out.

        Raises SYSTEM_ERROR (no consumer connected, a client that is too old).
        """
        group = self._clients.consumers.get(operation.group)
        if group is None:
            raise _null(
                'Cannot invoke "org.apache.rocketmq.broker.client.ConsumerGroupInfo.getChannelInfoTable()" because the'
                " return value of"
                ' "org.apache.rocketmq.broker.client.ConsumerManager.getConsumerGroupInfo(String)" is null'
            )
        remaining_members: list[Member] = []
        for member in group.members.values():
            if member.version < VERSION_3_0_7:
                raise unsupported(member.version)
            if not (operation.client_id or "").strip() or operation.client_id == member.client_id:
                remaining_members.append(member)
        if operation.client_id and operation.client_id.strip():
            del remaining_members[1:]
        responses: dict[str, bytes] = {}
        ext = {"topic": operation.topic, "group": operation.group}

        def request_next() -> None:
            """Send one request at a time, each after the response to the one before, as upstream does."""
            if not remaining_members:
                self._complete(call, operation, ConsumerStatusResult(responses))
                return
            member = remaining_members.pop(0)
            self._server_requests.send(
                member.channel,
                lambda ticket: RequestConsumerStatus(ext, ticket),
                TimerKind.CONSUMER_REQUEST,
                member.client_id,
                timeout_ms=STATUS_TIMEOUT_MS,
                on_response=partial(on_response, member),
            )

        def on_response(member: Member, response: ClientResponded | None) -> None:
            if response is not None and response.code == ResponseCode.SUCCESS and response.body:
                responses[member.client_id] = response.body
            request_next()

        if not remaining_members:
            return ConsumerStatusResult(responses)
        request_next()
        return PARKED

    def _relay(
        self,
        call: Call,
        operation: Operation,
        group: str,
        client_id: str | None,
        *,
        make_request: Callable[[int], ServerRequest],
    ) -> Parked:
        """Forward a request to a consumer. Raises SYSTEM_ERROR (the consumer is not online, or its version is too old).

        A consumer that does not respond within RELAY_TIMEOUT_MS completes the call with CONSUME_MSG_TIMEOUT.
        """
        members = self._clients.consumers[group].members.values() if group in self._clients.consumers else ()
        member = next((each for each in members if each.client_id == client_id), None)
        if member is None:
            shown = "null" if client_id is None else client_id
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"The Consumer <{group}> <{shown}> not online")
        if member.version < VERSION_3_1_8:
            version = checked_version_text(member.version)
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                f"The Consumer <{client_id}> Version <{version}> too low to finish, please upgrade it to"
                " V3_1_8_SNAPSHOT",
            )
        self._server_requests.send(
            member.channel,
            make_request,
            TimerKind.CONSUMER_REQUEST,
            member.client_id,
            timeout_ms=RELAY_TIMEOUT_MS,
            on_response=lambda response: self._complete(call, operation, self._outcome_of(group, member, response)),
        )
        return PARKED

    @staticmethod
    def _outcome_of(group: str, member: Member, response: ClientResponded | None) -> Outcome:
        if response is not None:
            return ClientResponse(response.code, response.remark, response.ext_fields, response.body)
        host, port = member.channel.remote_address
        return EngineError(
            ResponseCode.CONSUME_MSG_TIMEOUT,
            f"consumer <{group}> <{member.client_id}> Timeout:"
            " org.apache.rocketmq.remoting.exception.RemotingTimeoutException: wait response on the channel"
            f" </{host}:{port}> timeout, {RELAY_TIMEOUT_MS}(ms)",
        )

    def _record(self, message_id: str | None) -> bytes:
        """Return the stored record with an offset message id. Raises SYSTEM_ERROR with upstream's text."""
        if not message_id:
            raise _null('Cannot read the array length because "array" is null')
        offset = records.physical_offset_of(message_id)
        if offset is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "java.nio.BufferUnderflowException")
        record = raw_bytes_at(self._store.log, offset)
        if record is None:
            raise _null(
                'Cannot invoke "org.apache.rocketmq.store.SelectMappedBufferResult.getSize()" because'
                ' "selectMappedBufferResult" is null'
            )
        return record


def _null(text: str) -> EngineError:
    return EngineError(ResponseCode.SYSTEM_ERROR, f"java.lang.NullPointerException: {text}")
