"""Faults for rules: `from rocketmq_testkit import faults`, then `rocketmq.faults.add(faults.drop_response(), ...)`."""

from typing import TYPE_CHECKING, Any

from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import CorruptByte as corrupt_byte
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import DripFrame as drip_frame
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import GarbageBeforeFrame as garbage_before_frame
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import SplitFrame as split_frame
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import StallFrame as stall_frame
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import TruncateFrame as truncate_frame
from rocketmq_testkit.emulator.faults.kinds.cluster import FlapBroker as flap_broker
from rocketmq_testkit.emulator.faults.kinds.cluster import Partition as partition
from rocketmq_testkit.emulator.faults.kinds.cluster import RestartBroker as restart_broker
from rocketmq_testkit.emulator.faults.kinds.cluster import StopBroker as stop_broker
from rocketmq_testkit.emulator.faults.kinds.cluster import StopNameServer as stop_name_server
from rocketmq_testkit.emulator.faults.kinds.connections import CloseConnection as close_connection
from rocketmq_testkit.emulator.faults.kinds.connections import FailTlsHandshake as fail_tls_handshake
from rocketmq_testkit.emulator.faults.kinds.connections import GoAway as go_away
from rocketmq_testkit.emulator.faults.kinds.connections import HalfCloseConnection as half_close_connection
from rocketmq_testkit.emulator.faults.kinds.connections import IgnoreConnection as ignore_connection
from rocketmq_testkit.emulator.faults.kinds.connections import IgnorePings as ignore_pings
from rocketmq_testkit.emulator.faults.kinds.connections import RefuseConnection as refuse_connection
from rocketmq_testkit.emulator.faults.kinds.connections import ResetConnection as reset_connection
from rocketmq_testkit.emulator.faults.kinds.connections import WithholdWindow as withhold_window
from rocketmq_testkit.emulator.faults.kinds.deliveries import CorruptChecksum as corrupt_checksum
from rocketmq_testkit.emulator.faults.kinds.deliveries import DeliverToSecondConsumer as deliver_to_second_consumer
from rocketmq_testkit.emulator.faults.kinds.deliveries import DuplicateDelivery as duplicate_delivery
from rocketmq_testkit.emulator.faults.kinds.deliveries import ReorderDelivery as reorder_delivery
from rocketmq_testkit.emulator.faults.kinds.deliveries import SkipDelivery as skip_delivery
from rocketmq_testkit.emulator.faults.kinds.functions import CallFunction as call
from rocketmq_testkit.emulator.faults.kinds.requests import DelayPush as delay_push
from rocketmq_testkit.emulator.faults.kinds.requests import DelayRequest as delay_request
from rocketmq_testkit.emulator.faults.kinds.requests import DropPush as drop_push
from rocketmq_testkit.emulator.faults.kinds.requests import DropRequest as drop_request
from rocketmq_testkit.emulator.faults.kinds.requests import DuplicatePush as duplicate_push
from rocketmq_testkit.emulator.faults.kinds.requests import DuplicateRequest as duplicate_request
from rocketmq_testkit.emulator.faults.kinds.requests import Throttle as throttle
from rocketmq_testkit.emulator.faults.kinds.responses import DelayResponse as delay_response
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse as drop_response
from rocketmq_testkit.emulator.faults.kinds.responses import DuplicateResponse as duplicate_response
from rocketmq_testkit.emulator.faults.kinds.responses import OversizedRemark as oversized_remark
from rocketmq_testkit.emulator.faults.kinds.responses import ReorderResponses as reorder_responses
from rocketmq_testkit.emulator.faults.kinds.responses import Respond as respond
from rocketmq_testkit.emulator.faults.kinds.responses import WrongOpaque as wrong_opaque
from rocketmq_testkit.emulator.faults.kinds.routes import HideRoute as hide_route
from rocketmq_testkit.emulator.faults.kinds.routes import RouteToDeadBroker as route_to_dead_broker
from rocketmq_testkit.emulator.faults.kinds.routes import StaleRoute as stale_route
from rocketmq_testkit.emulator.faults.kinds.services import SkewClock as skew_clock
from rocketmq_testkit.emulator.faults.kinds.services import StealQueueLock as steal_queue_lock
from rocketmq_testkit.emulator.faults.kinds.services import StopRevive as stop_revive
from rocketmq_testkit.emulator.faults.kinds.services import StopTransactionChecks as stop_transaction_checks
from rocketmq_testkit.emulator.faults.kinds.store import LoseFlush as lose_flush
from rocketmq_testkit.emulator.faults.kinds.store import RefuseAppend as refuse_append
from rocketmq_testkit.emulator.faults.kinds.store import SlaveLag as slave_lag
from rocketmq_testkit.emulator.faults.kinds.upstream import UpstreamDefectFault as upstream_defect
from rocketmq_testkit.emulator.faults.presets import preset
from rocketmq_testkit.emulator.faults.yaml_text import to_yaml
from rocketmq_testkit.emulator.kernel.nearest_name import nearest_of
from rocketmq_testkit.emulator.kernel.user_error import hides_frames

__all__ = [
    "FaultError",
    "call",
    "close_connection",
    "corrupt_byte",
    "corrupt_checksum",
    "delay_push",
    "delay_request",
    "delay_response",
    "deliver_to_second_consumer",
    "drip_frame",
    "drop_push",
    "drop_request",
    "drop_response",
    "duplicate_delivery",
    "duplicate_push",
    "duplicate_request",
    "duplicate_response",
    "fail_tls_handshake",
    "flap_broker",
    "garbage_before_frame",
    "go_away",
    "half_close_connection",
    "hide_route",
    "ignore_connection",
    "ignore_pings",
    "lose_flush",
    "oversized_remark",
    "partition",
    "preset",
    "refuse_append",
    "refuse_connection",
    "reorder_delivery",
    "reorder_responses",
    "reset_connection",
    "respond",
    "restart_broker",
    "route_to_dead_broker",
    "skew_clock",
    "skip_delivery",
    "slave_lag",
    "split_frame",
    "stale_route",
    "stall_frame",
    "steal_queue_lock",
    "stop_broker",
    "stop_name_server",
    "stop_revive",
    "stop_transaction_checks",
    "throttle",
    "to_yaml",
    "truncate_frame",
    "upstream_defect",
    "withhold_window",
    "wrong_opaque",
]

__tracebackhide__ = hides_frames


if not TYPE_CHECKING:  # with __getattr__ in sight, a type checker would accept misspelled names

    def __getattr__(name: str) -> Any:
        """Raise AttributeError with the nearest name."""
        nearest = nearest_of(name, __all__)
        hint = "dir(faults) lists all" if nearest is None else f"did you mean {nearest}?"
        raise AttributeError(f"faults.{name}: there is no such fault; {hint}")
