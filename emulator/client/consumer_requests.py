"""Admin requests that the broker forwards to connected consumers, and whose responses it forwards back.

Source: AdminBrokerProcessor.callConsumer, Broker2Client.getConsumeStatus (5.3.3).
"""

from collections.abc import Callable
from functools import partial

from ..config import BrokerConfig
from ..gate.effects import AskConsumerStatus, AskRunningInfo, AskToConsume, Question
from ..gate.gate import Call, Handlers, Outcome
from ..group.group_table import Groups
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..message import stored_record as records
from ..operations import (
    PARKED,
    ClientAnswer,
    ConsumeMessageDirectly,
    ConsumerStatusResult,
    GetConsumerRunningInfo,
    GetConsumerStatus,
    Operation,
    Parked,
    PushAnswered,
)
from ..store.message_store import MessageStore
from ..store.refusals import bytes_of
from ..topic.topic_table import Topics
from .client_registry import Clients, Member
from .client_versions import VERSION_3_0_7, VERSION_3_1_8, version_text
from .server_requests import ClientQuestions

RELAY_TIMEOUT_MS = 10_000
STATUS_TIMEOUT_MS = 5_000

Complete = Callable[[Call, Operation, Outcome], None]


class ConsumerInquiries:
    """Handlers of admin requests for the consumers of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        topics: Topics,
        groups: Groups,
        clients: Clients,
        questions: ClientQuestions,
        complete: Complete,
    ) -> None:
        self._config = config
        self._store = store
        self._topics = topics
        self._groups = groups
        self._clients = clients
        self._questions = questions
        self._complete = complete

    def handlers(self) -> Handlers:
        """Return the handler of each operation."""
        return {
            GetConsumerRunningInfo: self.running_info,
            ConsumeMessageDirectly: self.consume_directly,
            GetConsumerStatus: self.status,
        }

    def running_info(self, call: Call, operation: GetConsumerRunningInfo) -> Parked:
        """Request the running info of a consumer. Raises as `_relay` does."""
        ext = operation.ext_fields
        return self._relay(
            call,
            operation,
            operation.consumer_group,
            operation.client_id,
            lambda ticket: AskRunningInfo(ext, ticket),
        )

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
            lambda ticket: AskToConsume(ext, record, ticket),
        )

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
        line: list[Member] = []
        for member in group.members.values():
            if member.version < VERSION_3_0_7:
                version = version_text(member.version)
                raise EngineError(
                    ResponseCode.SYSTEM_ERROR, f"the client does not support this feature. version={version}"
                )
            if not (operation.client_id or "").strip() or operation.client_id == member.client_id:
                line.append(member)
        if operation.client_id and operation.client_id.strip():
            del line[1:]
        answers: dict[str, bytes] = {}
        ext = {"topic": operation.topic, "group": operation.group}

        def ask_next() -> None:
            """Send the next request after the previous response, as upstream does, whose thread waits for each."""
            if not line:
                self._complete(call, operation, ConsumerStatusResult(answers))
                return
            member = line.pop(0)
            self._questions.ask(
                member.channel,
                lambda ticket: AskConsumerStatus(ext, ticket),
                "question to a consumer",
                member.client_id,
                STATUS_TIMEOUT_MS,
                partial(told, member),
            )

        def told(member: Member, answer: PushAnswered | None) -> None:
            if answer is not None and answer.code == ResponseCode.SUCCESS and answer.body:
                answers[member.client_id] = answer.body
            ask_next()

        if not line:
            return ConsumerStatusResult(answers)
        ask_next()
        return PARKED

    def _relay(
        self, call: Call, operation: Operation, group: str, client_id: str | None, question: Callable[[int], Question]
    ) -> Parked:
        """Forward a request to a consumer. Raises SYSTEM_ERROR (not online, too old); later CONSUME_MSG_TIMEOUT."""
        members = self._clients.consumers[group].members.values() if group in self._clients.consumers else ()
        member = next((each for each in members if each.client_id == client_id), None)
        if member is None:
            shown = "null" if client_id is None else client_id
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"The Consumer <{group}> <{shown}> not online")
        if member.version < VERSION_3_1_8:
            version = version_text(member.version)
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                f"The Consumer <{client_id}> Version <{version}> too low to finish, please upgrade it to"
                " V3_1_8_SNAPSHOT",
            )
        self._questions.ask(
            member.channel,
            question,
            "question to a consumer",
            member.client_id,
            RELAY_TIMEOUT_MS,
            lambda answer: self._complete(call, operation, self._answer(group, member, answer)),
        )
        return PARKED

    @staticmethod
    def _answer(group: str, member: Member, answer: PushAnswered | None) -> Outcome:
        if answer is not None:
            return ClientAnswer(answer.code, answer.remark, answer.ext_fields, answer.body)
        host, port = member.channel.remote_address
        return EngineError(
            ResponseCode.CONSUME_MSG_TIMEOUT,
            f"consumer <{group}> <{member.client_id}> Timeout:"
            " org.apache.rocketmq.remoting.exception.RemotingTimeoutException: wait response on the channel"
            f" </{host}:{port}> timeout, {RELAY_TIMEOUT_MS}(ms)",
        )

    def _record(self, message_id: str | None) -> bytes:
        if not message_id:
            raise _null('Cannot read the array length because "array" is null')
        offset = records.physical_offset_of(message_id)
        if offset is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "java.nio.BufferUnderflowException")
        record = bytes_of(self._store.log, offset)
        if record is None:
            raise _null(
                'Cannot invoke "org.apache.rocketmq.store.SelectMappedBufferResult.getSize()" because'
                ' "selectMappedBufferResult" is null'
            )
        return record


def _null(text: str) -> EngineError:
    return EngineError(ResponseCode.SYSTEM_ERROR, f"java.lang.NullPointerException: {text}")
