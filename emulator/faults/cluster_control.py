"""The changes of brokers, name server and time that faults make.

`emulator/engine_cluster_control.py` carries them out.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..gate.call import Node
from ..kernel.errors import EngineError
from ..kernel.scheduler import Timer
from ..operations.cluster import RouteResult


class StandingFault(Protocol):
    """A fault that holds until it is ended."""

    def end(self) -> None:
        """End the fault: undo its change. A no-op if it has ended."""


class Undo:
    """A standing fault that is ended by one action."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action: Callable[[], None] | None = action

    def end(self) -> None:
        """Run the action, once."""
        action, self._action = self._action, None
        if action is not None:
            action()


class ClusterControl(Protocol):
    """Changes of brokers, name server and time that faults make.

    A broker is named as in the emulator's options: `broker-a`, or `broker-a:1` for a slave. None means all brokers for
    which the change makes sense.
    """

    def check_broker(self, name: str) -> None:
        """Raise FaultError if there is no broker with this name."""

    def check_node(self, name: str) -> None:
        """Raise FaultError if a value of the criterion `broker`, a name or a pattern, matches no server."""

    def check_slave(self, name: str | None) -> None:
        """Raise FaultError if there is no slave, or if the named broker is neither a slave nor a master with one."""

    def later(self, ms: int, action: Callable[[], None]) -> Timer:
        """Run an action after some ms of the emulator's time."""

    def stop_broker(self, name: str, *, kill: bool) -> StandingFault:
        """Stop a broker: gracefully, or as a crash. Its ports are closed until the end."""

    def restart_broker(self, name: str | None, node: Node | None, *, kill: bool) -> None:
        """Restart brokers at once: gracefully, or after a crash. Their connections break; stopped ones stay stopped.

        `node` is the server of the request that the fault acts on. Without a name, the broker `node` restarts, or all
        brokers if `node` is None or no broker.
        """

    def call(self, function: Callable[[], Any], timeout_ms: int, done: Callable[[BaseException | None], None]) -> None:
        """Call a function of the test, and then `done` on the engine's thread, once, with the exception or None.

        `done` gets a TimeoutError if the function has not returned after `timeout_ms` of real time.
        """

    def stop_name_server(self) -> StandingFault:
        """Stop the name server for remoting clients."""

    def stop_revive(self, name: str | None) -> StandingFault:
        """Stop the redelivery of popped messages."""

    def redeliver(self, node: Node, topic: str, group: str, queue_id: int, *, offset: int) -> None:
        """Redeliver a popped message whose invisible duration has been shortened, and wake waiting pops.

        A no-op for a message of an ordered pop, which the broker delivers again itself, and while revive is stopped.
        """

    def stop_transaction_checks(self, name: str | None) -> StandingFault:
        """Stop the checks of half messages."""

    def lose_flushes(self, name: str | None) -> StandingFault:
        """Lose the records that are flushed from now on if the power fails before the end."""

    def lag_slaves(self, name: str | None, ms: int) -> StandingFault:
        """Replicate records `ms` later. `name` is a slave, or a master for all its slaves."""

    def skew_clock(self, name: str, ms: int) -> StandingFault:
        """Set the clock of a broker fast (negative: slow)."""

    def steal_queue_locks(self, group: str, topic: str) -> StandingFault:
        """Take the queue locks of a group on a topic away from its clients."""

    def enable_defect(self, name: str) -> StandingFault:
        """Switch a defect of upstream on."""

    def routes(self) -> Mapping[str, RouteResult]:
        """Return the routes of all topics as of now."""

    def message_type(self, topic: str) -> str:
        """Return the type of a topic as the brokers have it now; UNSPECIFIED if none has the topic."""

    def full_disk(self, node: Node) -> AbstractContextManager[None]:
        """Treat the disk of a broker as full within a block."""

    def page_cache_busy(self, *, through_proxy: bool) -> EngineError:
        """Return the error of a send while the page cache is busy."""

    def failing_store(self, node: Node, error: EngineError) -> AbstractContextManager[None]:
        """Raise an error for each message that a broker stores within a block."""

    def flush_timeout_ms(self, node: Node) -> int:
        """Return the time (ms) for which a send to a broker waits for the flush to the disk."""

    def slave_timeout_ms(self, node: Node) -> int:
        """Return the time (ms) for which a send to a broker waits for its slaves."""
