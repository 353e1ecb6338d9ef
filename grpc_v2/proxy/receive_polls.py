"""The receives of one proxy that have no response yet."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.consume import PopMessage

from ..config.proxy_config import ProxyConfig
from .fire_and_forget import FireAndForget
from .poll import Deliver, Poll, PollSetup, no_new_message
from .receive_metrics import ReceiveMetrics
from .rpc_call import RpcCall
from .sessions import Session

if TYPE_CHECKING:
    from rocketmq_testkit.emulator.cluster.broker import Broker


class ReceivePolls:
    """Starts receives and finds them by session."""

    def __init__(
        self,
        *,
        scheduler: Scheduler,
        config: ProxyConfig,
        fire_and_forget: FireAndForget,
        tick: Callable[[], None],
    ) -> None:
        self._open: dict[Poll, None] = {}
        self._by_session: dict[Session, dict[Poll, None]] = {}
        self._metrics = ReceiveMetrics()
        self._setup = PollSetup(
            scheduler=scheduler,
            config=config,
            metrics=self._metrics,
            fire_and_forget=fire_and_forget,
            tick=tick,
            on_end=self._ended,
        )

    def metrics(self) -> ReceiveMetrics:
        """Return a snapshot of the counters."""
        return replace(self._metrics)

    def begin(self, call: RpcCall, *, brokers: "Sequence[Broker]", pop: PopMessage, deliver: Deliver) -> None:
        """Start a receive on its brokers. `deliver` sends messages to the client and returns True if it got any."""
        poll = Poll(self._setup, call, brokers=brokers, pop=pop, deliver=deliver)
        metrics = self._metrics
        metrics.receives += 1
        self._open[poll] = None
        metrics.pops_in_progress = len(self._open)
        if call.session is not None:
            self._by_session.setdefault(call.session, {})[poll] = None
        poll.start()
        if poll.open:
            metrics.is_long_polling += 1
        elif poll.delivered:
            metrics.is_short_polling_hit += 1

    def end(self, session: Session) -> None:
        """End the receives of a client, with the response of a poll whose time has ended."""
        for poll in list(self._by_session.get(session, ())):
            poll.end(no_new_message())

    def broker_stopped(self, broker: "Broker") -> None:
        """End all waits on a broker that stopped."""
        for poll in list(self._open):
            poll.broker_stopped(broker)

    def discard_all(self) -> None:
        """Discard all receives without a response, because the proxy stops."""
        for poll in self._open:
            poll.discard()
        self._open.clear()
        self._by_session.clear()
        self._metrics.pops_in_progress = 0

    def _ended(self, poll: Poll) -> None:
        """Remove a receive that has its response, or whose client has cancelled it."""
        self._open.pop(poll, None)
        self._metrics.pops_in_progress = len(self._open)
        session = poll.call.session
        polls = None if session is None else self._by_session.get(session)
        if session is not None and polls is not None:
            polls.pop(poll, None)
            if not polls:
                del self._by_session[session]
