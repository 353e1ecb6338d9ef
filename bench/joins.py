"""Measures the joins of a group's consumers: the server's processor time of each, while the group grows.

    python bench/joins.py [--members 1000] [--real]

Each member has a connection of its own, and joins with a heartbeat when the member before it has its response. A member
that gets notices of a changed group queries the list of client ids, once for all notices that it has received, as an
SDK does with a rebalance. With `--real` the real broker is measured as well.
"""

import argparse
import selectors
import socket
from contextlib import ExitStack

from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire import frame, header_json
from rocketmq_testkit.remoting.wire.command import RESPONSE, RemotingCommand
from servers import EmulatorCommand, RealBroker, Server, cpu_seconds, create_topic

GROUP, TOPIC = "crowd", "crowd-topic"
STEPS = 5
"""The number of rows: each is an equal share of the members."""
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
        self._is_querying = self._is_outdated = False

    def join(self) -> None:
        """Send the first heartbeat."""
        code, _, body = heartbeat_request(self._id, groups={GROUP: {TOPIC: "*"}})
        self.socket.sendall(_encoded(code, 1, None, body))

    def read(self) -> None:
        """Handle received frames."""
        for _, header, _ in self._splitter.feed(self.socket.recv(_READ_BYTES)):
            code, opaque, flag, *_ = header_json.read_head(header)
            if not flag & RESPONSE:
                self.notices += code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
                self._is_outdated = True
            elif opaque == 1:
                self.joined = True
            else:
                self._is_querying = False
        if self._is_outdated and not self._is_querying:
            self._is_outdated, self._is_querying = False, True
            self.socket.sendall(QUERY)

    @property
    def is_busy(self) -> bool:
        """True while a query has no response."""
        return self._is_querying


def joins(server: Server, members: int) -> list[tuple[int, float, int]]:
    """Let members join; return for each step the size of the group, ms of the server for each join, and notices."""
    create_topic(server, TOPIC)
    rows: list[tuple[int, float, int]] = []
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        group: list[Member] = []
        began, before = cpu_seconds(server), 0
        for number in range(members):
            member = Member(server.broker, number)
            stack.callback(member.socket.close)
            selector.register(member.socket, selectors.EVENT_READ, member)
            group.append(member)
            member.join()
            while not member.joined:
                for key, _ in selector.select():
                    key.data.read()
            if (number + 1) % (members // STEPS) == 0:
                while any(each.is_busy for each in group):
                    for key, _ in selector.select():
                        key.data.read()
                now, notices = cpu_seconds(server), sum(each.notices for each in group)
                rows.append((number + 1, (now - began) * 1000 / (members // STEPS), notices - before))
                began, before = now, notices
    return rows


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="Measure the joins of a group's consumers.")
    parser.add_argument("--members", type=int, default=1000, help="number of consumers (default 1000)")
    parser.add_argument("--real", action="store_true", help="measure the real broker as well")
    options = parser.parse_args()
    print("| server | members | server CPU ms/join | notices |\n|---|---:|---:|---:|")
    for make in (EmulatorCommand, RealBroker) if options.real else (EmulatorCommand,):
        with make() as server:
            for size, millis, notices in joins(server, options.members):
                print(f"| {server.name} | {size:,} | {millis:.2f} | {notices:,} |", flush=True)


if __name__ == "__main__":
    main()
