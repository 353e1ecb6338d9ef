"""Earlier starts of forks: move the instants of a state without messages, so that no timer waits for the parent's time.

The state in memory (`BrokerState.memories`) needs no move, because services give a fork durations in place of instants.
"""

from dataclasses import replace

from ..pop.consumer_order_info import OrderInfo
from ..schedule.timer_state import FollowedTimer, TimerState, WrittenMetrics
from .durable_state import BrokerState, EngineState, ServiceState, Version


def start_earlier(state: EngineState, now_ms: int) -> None:
    """Let the engine of a fork start at an earlier instant (ms since the epoch), without a history.

    No broker of the state has a message: the times in a message cannot move.
    """
    by_ms = now_ms - state.now_ms
    state.now_ms = now_ms
    state.history = None  # its steps would be in the future
    for broker in state.brokers:
        _move(broker, by_ms)


def _move(broker: BrokerState, by_ms: int) -> None:
    broker.topics_version = _moved_version(broker.topics_version, by_ms)
    broker.groups_version = _moved_version(broker.groups_version, by_ms)
    broker.mappings_version = _moved_version(broker.mappings_version, by_ms)
    broker.log.last_store_timestamp = max(broker.log.last_store_timestamp + by_ms, 0)
    broker.pop_records = [replace(record, pop_time=record.pop_time + by_ms) for record in broker.pop_records]
    services = broker.services
    broker.services = ServiceState(
        orders={key: _moved_order(order, by_ms) for key, order in services.orders.items()},
        delay_offsets=services.delay_offsets,
        timer=_moved_timer(services.timer, by_ms),
        filters={
            key: replace(
                data,
                born_ms=data.born_ms + by_ms,
                unused_since=None if data.unused_since is None else data.unused_since + by_ms,
            )
            for key, data in services.filters.items()
        },
    )


def _moved_version(version: Version, by_ms: int) -> Version:
    number, changed_ms = version
    return number, max(changed_ms + by_ms, 0)


def _moved_order(order: OrderInfo, by_ms: int) -> OrderInfo:
    visible = {offset: visible_ms + by_ms for offset, visible_ms in order.next_visible.items()}
    return replace(order, pop_time=order.pop_time + by_ms, next_visible=visible)


def _moved_timer(timer: TimerState, by_ms: int) -> TimerState:
    """Move the times of the timer's files, and drop its slots.

    A slot of a state without messages can only have keys of delete marks that a crash has lost.
    """
    followed, metrics = timer.followed, timer.metrics
    topics = {name: replace(each, changed_ms=each.changed_ms + by_ms) for name, each in metrics.topics.items()}
    return TimerState(
        {},
        timer.progress,
        timer.version,
        WrittenMetrics(topics, metrics.version),
        followed=FollowedTimer(
            _moved(followed.read_ms, by_ms), followed.taken, followed.version, _moved(followed.changed_ms, by_ms)
        ),
        first_held_back=timer.first_held_back,
    )


def _moved(at_ms: int | None, by_ms: int) -> int | None:
    return None if at_ms is None else at_ms + by_ms
