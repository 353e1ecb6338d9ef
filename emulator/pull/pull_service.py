"""Pull: checks in upstream's order, the read, the offset commit of the request, and long polling.

Source: PullMessageProcessor, DefaultPullMessageResultHandler (5.3.3).
"""

from dataclasses import replace

from ..assembly.broker_context import Complete
from ..assembly.handlers import handles
from ..client.client_registry import ClientRegistry
from ..config import BrokerConfig, EmulationConfig
from ..filter.filter_table import RetryFilter
from ..filter.message_filter import MessageFilter, SqlError, build_subscription, filter_of, is_tag_type, parse_failed
from ..gate.call import Call
from ..group.broker_tables import BrokerTables
from ..kernel.errors import FAQ, EngineError
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..message import stored_record as records
from ..message.names import DLQ_PREFIX, MAY_ALWAYS_PULL, SYSTEM_GROUP_PREFIX, group_of_retry_topic, is_retry
from ..operations.base import PARKED, Parked, Result
from ..operations.clients import ACTIVELY, BROADCASTING, SubscriptionData
from ..operations.consume import (
    FLAG_COMMIT_OFFSET,
    FLAG_LITE_PULL,
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PullMessage,
    PullResult,
    PullStatus,
)
from ..operations.groups import GroupConfig
from ..store.refusals import illegal_queue_id, refuse_on_slave
from ..topic.topic_table import PERM_READ
from .broadcast_offsets import BroadcastOffsets
from .cold_data import ColdData
from .cold_pull_hold import ColdPullHold
from .pull_request_hold import PullRequestHold
from .queue_reader import QueueReader, Read
from .suggested_broker import BrokerSuggestions

_CODES = {
    PullStatus.FOUND: ResponseCode.SUCCESS,
    PullStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    PullStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    PullStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    PullStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    PullStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    PullStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
    PullStatus.OFFSET_RESET: ResponseCode.PULL_OFFSET_MOVED,
}


class PullService:
    """Handles the pull requests of one broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        emulation: EmulationConfig,
        scheduler: Scheduler,
        tables: BrokerTables,
        clients: ClientRegistry,
        reader: QueueReader,
        cold_data: ColdData,
        complete: Complete,
    ) -> None:
        self._config = config
        self._store = tables.store
        self._topics = tables.topics
        self._groups = tables.groups
        self._clients = clients
        self._offsets = tables.offsets
        self._reader = reader
        self._cold_data = cold_data
        self._complete = complete
        self._emulation = emulation
        self._suggestions = BrokerSuggestions(config, reader)
        self._broadcasts = BroadcastOffsets(config, scheduler, clients, tables.offsets)
        self.hold = PullRequestHold(scheduler, self._check_interval_ms, self._resume)
        self.cold_hold = ColdPullHold(scheduler, self._resume_cold)

    @handles(PullMessage)
    def pull(self, call: Call, operation: PullMessage) -> Result | Parked:
        """Read a queue, or wait for messages.

        Errors: SYSTEM_BUSY on a slave without `slaveReadEnable`. Then, in upstream's order of checks: NO_PERMISSION
        (broker, lite pulls), SUBSCRIPTION_GROUP_NOT_EXIST, NO_PERMISSION (group), TOPIC_NOT_EXIST, NO_PERMISSION
        (topic), INVALID_PARAMETER (queue id), those about the subscription (SUBSCRIPTION_..., FILTER_DATA_...,
        NO_PERMISSION, SYSTEM_ERROR if its kind of filter is off), SUBSCRIPTION_NOT_EXIST (pull consumers are rejected).
        """
        if not self._config.slave_read_enable:
            refuse_on_slave(self._config)
        group, topic_sys_flag = self._check(call, operation)
        message_filter = self._filter(operation)
        if self._config.reject_pull_consumer_enable:
            self._refuse_pull_consumer(call, operation.consumer_group)
        if self._cold_data.enabled and self._is_suspended(operation):
            self.cold_hold.suspend(call, operation, self._cold_data.resume_ms())
            return PARKED
        read = self._reset_or_read(operation, message_filter)
        if operation.sys_flag & FLAG_COMMIT_OFFSET:
            self._offsets.commit(operation.consumer_group, operation.topic, operation.queue_id, operation.commit_offset)
        behind = self._suggestions.is_far_behind(operation, read)
        code = self._suggestions.code(self._code(operation, read))
        self._broadcasts.record_pull(call, operation, code, read.next_offset)
        if code is ResponseCode.PULL_NOT_FOUND and operation.sys_flag & FLAG_SUSPEND:
            return self._wait(call, operation, message_filter)
        return self._result(code, read, topic_sys_flag, group, behind)

    def wait(self, call: Call, operation: PullMessage) -> Parked:
        """Park a pull that found no messages. Errors: those about its subscription."""
        return self._wait(call, operation, self._filter(operation))

    def _wait(self, call: Call, operation: PullMessage, message_filter: MessageFilter | None) -> Parked:
        timeout_ms = operation.suspend_timeout_ms
        if not self._config.long_polling_enable:
            timeout_ms = self._config.short_polling_time_mills
        self.hold.hold(call, operation, message_filter, operation.queue_offset, timeout_ms=timeout_ms)
        return PARKED

    def _check_interval_ms(self) -> int:
        if self._config.long_polling_enable:
            return self._emulation.pull_hold_check_interval
        return max(self._config.short_polling_time_mills, 1)

    def _is_suspended(self, operation: PullMessage) -> bool:
        """Return True if the pull of a pull consumer reads too much cold data. Raises SYSTEM_BUSY for push consumers.

        Source: PullMessageProcessor.processRequest.
        """
        group = operation.consumer_group
        if self._cold_data.suspension(group, operation.topic, operation.queue_id, operation.queue_offset) is None:
            return False
        registered = self._clients.consumers.get(group)
        if registered is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")  # seen on 5.3.3
        if registered.consume_type == ACTIVELY:
            return True
        raise EngineError(
            ResponseCode.SYSTEM_BUSY, "This consumer group is reading cold data. It has been flow control"
        )

    def _resume_cold(self, call: Call, operation: PullMessage) -> None:
        """Read one message, or all if the group is no longer suspended, for a pull that was suspended."""
        self._resume(call, operation, after_suspension=True)

    def _resume(self, call: Call, operation: PullMessage, *, after_suspension: bool = False) -> None:
        """Read once more for a pull that waited; it neither waits nor commits again."""
        try:
            group, topic_sys_flag = self._check(call, operation)
            message_filter = self._filter(operation)
            if self._config.reject_pull_consumer_enable:
                self._refuse_pull_consumer(call, operation.consumer_group)
            if self._cold_data.enabled and self._is_suspended(operation):
                if not after_suspension:
                    self.cold_hold.suspend(call, operation, self._cold_data.resume_ms())
                    return
                operation = replace(operation, max_msg_nums=1)
            read = self._reset_or_read(operation, message_filter)
            behind = self._suggestions.is_far_behind(operation, read)
            code = self._suggestions.code(self._code(operation, read))
            self._broadcasts.record_pull(call, operation, code, read.next_offset)
            outcome: Result | EngineError = self._result(code, read, topic_sys_flag, group, behind)
        except EngineError as refusal:
            outcome = refusal.with_traceback(None)
        self._complete(call, operation, outcome)

    def _check(self, call: Call, operation: PullMessage) -> tuple[GroupConfig, int]:
        config = self._config
        if not config.broker_permission & PERM_READ:
            raise _forbidden(f"the broker[{self._broker_ip()}] pulling message is forbidden", 1)
        if operation.sys_flag & FLAG_LITE_PULL and not config.lite_pull_message_enable:
            raise _forbidden(f"the broker[{self._broker_ip()}] for lite pull consumer is forbidden", 1)
        group = self._groups.get_enabled(operation.consumer_group)
        topic = self._topics.get(operation.topic)
        if not topic.perm & PERM_READ:
            raise _forbidden(f"the topic[{operation.topic}] pulling message is forbidden", 3)
        if not 0 <= operation.queue_id < topic.read_queue_nums:
            raise illegal_queue_id(call, operation.queue_id, topic, ResponseCode.INVALID_PARAMETER)
        return group, topic.topic_sys_flag

    def _broker_ip(self) -> str:
        return records.unpack_host(self._store.store_host)[0]

    def _refuse_pull_consumer(self, call: Call, name: str) -> None:
        group = self._clients.consumers.get(name)
        if group is not None and (group.consume_type != ACTIVELY or call.channel.channel_id in group.members):
            return
        if name in MAY_ALWAYS_PULL or name.startswith(SYSTEM_GROUP_PREFIX):
            return
        raise EngineError(
            ResponseCode.SUBSCRIPTION_NOT_EXIST,
            f"the consumer's group info not exist, or the pull consumer is rejected by server.\n{FAQ}",
        )

    def _filter(self, operation: PullMessage) -> MessageFilter | None:
        if operation.sys_flag & FLAG_SUBSCRIPTION:
            try:
                subscription = build_subscription(operation.topic, operation.subscription, operation.expression_type)
            except ValueError:
                raise parse_failed() from None
            self._clients.compensate(operation.consumer_group, subscription)
            self._check_kind(subscription)
            try:
                return self._of_retries(subscription) or filter_of(subscription)
            except SqlError:
                return None  # upstream only asserts here, so every message matches
        self._clients.note_pull(operation.consumer_group)
        subscription = self._registered_subscription(operation)
        if is_tag_type(subscription.expression_type):
            return filter_of(subscription)
        data = self._clients.filters.find(operation.topic, operation.consumer_group)
        if data is None:
            raise EngineError(
                ResponseCode.FILTER_DATA_NOT_EXIST,
                "The broker's consumer filter data is not exist!Your expression may be wrong!",
            )
        if data.version < operation.sub_version:
            raise EngineError(ResponseCode.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest")
        self._check_kind(subscription)
        return None if subscription.class_filter_mode else self._of_retries(subscription) or data.filter

    def _of_retries(self, subscription: SubscriptionData) -> MessageFilter | None:
        """Return the RetryFilter for an SQL92 subscription to a retry topic with `filterSupportRetry`, else None."""
        topic = subscription.topic
        if not self._config.filter_support_retry or is_tag_type(subscription.expression_type) or not is_retry(topic):
            return None
        return RetryFilter(self._clients.filters, group_of_retry_topic(topic))

    def _check_kind(self, subscription: SubscriptionData) -> None:
        if not is_tag_type(subscription.expression_type) and not self._config.enable_property_filter:
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                f"The broker does not support consumer to filter message by {subscription.expression_type}",
            )

    def _registered_subscription(self, operation: PullMessage) -> SubscriptionData:
        group = self._clients.consumers.get(operation.consumer_group)
        if group is None:
            raise EngineError(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist\n{FAQ}")
        config = self._groups.get(operation.consumer_group)
        if not config.consume_broadcast_enable and group.message_model == BROADCASTING:
            raise _forbidden(f"the consumer group[{operation.consumer_group}] can not consume by broadcast way", 4)
        if not self._groups.may_read(config.group_name, operation.topic):
            raise _forbidden(
                f"the consumer group[{operation.consumer_group}] is forbidden for topic[{operation.topic}]", 5
            )
        subscription = group.subscriptions.get(operation.topic)
        if subscription is None:
            raise EngineError(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist\n{FAQ}")
        if subscription.sub_version < operation.sub_version:
            raise EngineError(ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")
        return subscription

    def _reset_or_read(self, operation: PullMessage, message_filter: MessageFilter | None) -> Read:
        """Return the pending reset of the group and remove it, or read the queue if there is none."""
        group, topic, queue_id = operation.consumer_group, operation.topic, operation.queue_id
        reset = self._offsets.take_reset(group, topic, queue_id)
        if reset is None:
            read = self._read(operation, message_filter)
        else:
            read = Read(PullStatus.OFFSET_RESET, reset, *self._reader.bounds(topic, queue_id))
        self._offsets.set_pull_offset(group, topic, queue_id, read.next_offset)
        return read

    def _read(self, operation: PullMessage, message_filter: MessageFilter | None) -> Read:
        read = self._reader.read(
            operation.topic,
            operation.queue_id,
            operation.queue_offset,
            operation.max_msg_nums,
            message_filter,
            operation.consumer_group,
        )
        if read.records:
            self._reader.count_delivery(operation.topic, operation.consumer_group, operation.queue_id)
            if not is_retry(operation.topic) and not operation.topic.startswith(DLQ_PREFIX):
                self._reader.count_out(operation.topic, operation.consumer_group, read)
            if self._cold_data.enabled:
                self._cold_data.record(operation.consumer_group, operation.topic, operation.queue_id, read.offsets)
        read.next_offset = self._suggestions.next_offset(operation, read)
        return read

    @staticmethod
    def _code(operation: PullMessage, read: Read) -> ResponseCode:
        code = _CODES.get(read.status)
        if code is not None:
            return code
        return ResponseCode.PULL_NOT_FOUND if operation.queue_offset == 0 else ResponseCode.PULL_OFFSET_MOVED

    def _result(  # noqa: PLR0917 - once per pull; keywords would cost time
        self, code: ResponseCode, read: Read, topic_sys_flag: int, group: GroupConfig, behind: bool
    ) -> PullResult:
        return PullResult(
            code,
            read.status,
            read.next_offset,
            read.min_offset,
            read.max_offset,
            read.records,
            read.offsets,
            self._suggestions.broker_id(group, behind),
            topic_sys_flag,
            group.group_sys_flag,
        )


def _forbidden(remark: str, forbidden_type: int) -> EngineError:
    return EngineError(ResponseCode.NO_PERMISSION, remark, forbidden_type=forbidden_type)
