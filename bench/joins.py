"""Measures joins and leaves of a group's consumers: the server's processor time of each, while the group grows.

    python bench/joins.py [--members 1000] [--at-once] [--real] [--write]

Each member has a connection of its own, and joins with a heartbeat when the member before it has its response. It sends
further heartbeats every 30 s, as SDKs do, because a broker closes connections without them after two minutes. A member
that gets notices of a changed group queries the list of client ids, once for all notices that it has received, as an
SDK does with a rebalance. In the end the members unregister in the same way. With `--at-once` the members of each row
join without a pause, as those of a suite that starts, and leave likewise. With `--real` the real broker is measured as
well. `--write` puts the table into bench/README.md.
"""

import argparse
import selectors
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from document import Table, machine
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire import frame, header_json
from rocketmq_testkit.remoting.wire.command import RESPONSE, RemotingCommand
from servers import EmulatorCommand, RealBroker, Server, cpu_seconds, create_topic

GROUP, TOPIC = "crowd", "crowd-topic"
STEPS = 5
"""The number of rows: each is an equal share of the members."""
QUIET_SECONDS = 0.05
"""A step ends when nothing has arrived for this time."""
TABLE = Table("joins")
HEARTBEAT_SECONDS = 30.0
JOIN_OR_LEAVE, STAY = 1, 2
"""The opaques of a request that changes the group, and of a later heartbeat."""
_READ_BYTES = 1 << 20


def _encoded(code: int, opaque: int, ext: dict[str, str] | None, body: bytes = b"") -> bytes:
    return frame.encode(RemotingCommand(code, opaque=opaque, ext_fields=ext, body=body))


QUERY = _encoded(RequestCode.GET_CONSUMER_LIST_BY_GROUP, 7, {"consumerGroup": GROUP})


class Member:
    """One client: its connection, and the number of notices and of lists that it has received."""

    def __init__(self, address: str, number: int) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), 60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._splitter = frame.FrameSplitter()
        self._id = f"127.0.0.1@{number}"
        self.joined = False
        self.notices = 0
        self.is_member = self.is_heard = True
        """True until the member leaves; True unless a later heartbeat has no response yet."""
        self._is_querying = self._is_outdated = False

    def join(self) -> None:
        """Send the first heartbeat."""
        self._send_heartbeat(JOIN_OR_LEAVE)

    def stay(self) -> None:
        """Send a later heartbeat."""
        self.is_heard = False
        self._send_heartbeat(STAY)

    def _send_heartbeat(self, opaque: int) -> None:
        code, _, body = heartbeat_request(self._id, groups={GROUP: {TOPIC: "*"}})
        self.socket.sendall(_encoded(code, opaque, None, body))

    def leave(self) -> None:
        """Unregister. The response is not that of a join, but ends the wait in the same way."""
        self.joined = self.is_member = False
        self.socket.sendall(
            _encoded(RequestCode.UNREGISTER_CLIENT, JOIN_OR_LEAVE, {"clientID": self._id, "consumerGroup": GROUP})
        )

    def read(self) -> None:
        """Handle received frames."""
        for _, header, _ in self._splitter.feed(self.socket.recv(_READ_BYTES)):
            code, opaque, flag, *_ = header_json.read_head(header)
            if not flag & RESPONSE:
                self.notices += code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
                self._is_outdated = True
            elif opaque == JOIN_OR_LEAVE:
                self.joined = True
            elif opaque == STAY:
                self.is_heard = True
            else:
                self._is_querying = False
        if self._is_outdated and not self._is_querying:
            self._is_outdated, self._is_querying = False, True
            self.socket.sendall(QUERY)

    @property
    def is_busy(self) -> bool:
        """True while a query has no response."""
        return self._is_querying


Row = tuple[str, int, float, int]
"""Join or leave, size of the group at the end, ms of the server for each member, number of notices."""


def joins(server: Server, members: int, *, at_once: bool) -> list[Row]:
    """Let members join and leave again; return a row for each step."""
    create_topic(server, TOPIC)
    rows: list[Row] = []
    step = members // STEPS
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        group: list[Member] = []
        heartbeats_at = time.monotonic()

        def read() -> None:
            for key, _ in selector.select():
                key.data.read()

        def connect(number: int) -> Member:
            member = Member(server.broker, number)
            stack.callback(member.socket.close)
            selector.register(member.socket, selectors.EVENT_READ, member)
            group.append(member)
            return member

        def send_heartbeats() -> None:
            nonlocal heartbeats_at
            if time.monotonic() - heartbeats_at < HEARTBEAT_SECONDS:
                return
            heartbeats_at = time.monotonic()
            for member in group:
                if member.is_member and member.joined:
                    member.stay()
            while not all(member.is_heard for member in group):
                read()

        for what in ("join", "leave"):
            for first in range(0, step * STEPS, step):
                before, began = sum(each.notices for each in group), cpu_seconds(server)
                for number in range(first, first + step):
                    send_heartbeats()
                    if what == "join":
                        connect(number).join()
                    else:
                        group[number].leave()
                    while not (at_once or group[number].joined):
                        read()
                changing = group[first : first + step]
                while not all(each.joined for each in changing):
                    read()
                while any(each.is_busy for each in group) or selector.select(QUIET_SECONDS):
                    read()
                millis = (cpu_seconds(server) - began) * 1000 / step
                size = first + step if what == "join" else len(group) - first - step
                rows.append((what, size, millis, sum(each.notices for each in group) - before))
    return rows


def table(rows: Mapping[str, Sequence[Row]], members: int, *, at_once: bool) -> str:
    """Return the rows of each server as Markdown, in columns beside each other."""
    how = "all members of a row at once" if at_once else "one member after the other"
    figures = [f"{server}, {what}" for server in rows for what in ("CPU ms/member", "notices")]
    lines = [
        f"{machine()}; {members:,} members, {how}.",
        "",
        f"| step | members | {' | '.join(figures)} |",
        f"|---|---:|{'---:|' * len(figures)}",
    ]
    for each in zip(*rows.values(), strict=True):
        what, size, _, _ = each[0]
        cells = [f"{millis:.2f} | {notices:,}" for _, _, millis, notices in each]
        lines.append(f"| {what} | {size:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table; with `--write`, also write it to bench/README.md."""
    parser = argparse.ArgumentParser(description="Measure joins and leaves of a group's consumers.")
    parser.add_argument("--members", type=int, default=1000, help="number of consumers (default 1000)")
    parser.add_argument("--at-once", action="store_true", help="let the members of each row join without a pause")
    parser.add_argument("--real", action="store_true", help="measure the real broker as well")
    parser.add_argument("--write", action="store_true", help="write the table to bench/README.md")
    options = parser.parse_args()
    rows: dict[str, list[Row]] = {}
    for make in (EmulatorCommand, RealBroker) if options.real else (EmulatorCommand,):
        with make() as server:
            rows[server.name] = joins(server, options.members, at_once=options.at_once)
    text = table(rows, options.members, at_once=options.at_once)
    print(text)
    if options.write:
        TABLE.write(text)


if __name__ == "__main__":
    main()
