"""Crashes, stops and starts of simulated brokers, as their clients and the oracle observe them."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import observations as obs
from rocketmq_testkit.emulator.engine import Engine
from simulated_client import Client
from snapshot_files import copied

if TYPE_CHECKING:
    from session import Session


class Crashes:
    """Crashes and stops of the broker of a session, which sends the requests of simulated clients to one broker.

    `clients` are connected to it. `places` are the queues in which groups may have offsets: (group, (topic, queue id)).
    """

    def __init__(self, session: "Session", clients: Iterable[Client], places: Iterable[tuple[str, obs.Place]]) -> None:
        self._session = session
        self._clients = tuple(clients)
        self._places = tuple(places)
        self._stopped_ms = 0

    def crash(self, *, power_loss: bool, in_order: bool = False, moves: bool = False) -> None:
        """Crash the broker, or restart it gracefully (`in_order`); all connections are lost, and the clients reconnect.

        With `moves` a new engine continues from a snapshot, if this broker is the only one of its engine.
        """
        session = self._session
        if moves and len(session.engine.brokers) == 1:  # other sessions use the other brokers of the engine
            self.move_to(lambda: copied(session.engine))
            return
        self._disconnect()
        if in_order:
            session.engine.restart(session.broker)
        else:
            session.engine.crash(session.broker, power_loss=power_loss)
        session.listen()
        self._connect()
        self._report_crash()
        session.advance(1)  # later requests have a later time than the crash

    def move_to(self, made: Callable[[], Engine]) -> None:
        """Continue with the engine of one broker that `made` returns; the clients reconnect."""
        session = self._session
        self._disconnect()
        session.engine = made()
        session.broker = session.engine.brokers[0]
        session.listen()
        self._connect()
        self._report_crash()
        session.advance(1)

    def stop(self, *, kill: bool) -> None:
        """Stop the broker, gracefully or with `kill`; all connections are lost.

        Each client gets a new connection, on which its requests fail until the broker starts.
        """
        self._disconnect()
        self._session.engine.stop(self._session.broker, kill=kill)
        self._connect()
        self._stopped_ms = self._session.now_ms
        self._report_crash()

    def start(self) -> None:
        """Start the broker."""
        self._session.engine.start(self._session.broker)
        self._session.listen()
        self._report_crash(self._session.now_ms - self._stopped_ms)

    def _disconnect(self) -> None:
        for client in self._clients:
            client.channel.active = False

    def _connect(self) -> None:
        for client in self._clients:
            client.connect()

    def _report_crash(self, away_ms: int = 0) -> None:
        """Report the crash or stop to the oracle, with the groups' offsets. `away_ms`: how long the stop lasted."""
        offsets = self._session.broker.offsets
        found = tuple((group, place, offsets.query(group, *place)) for group, place in self._places)
        self._session.note(obs.Crashed(self._session.now_ms, found, away_ms))
