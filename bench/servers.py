"""The two compared servers, measured from outside: the emulator as a command, and a real Apache broker."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import urlsplit

from rocketmq_testkit.conformance.clients.remoting_members import mode_request
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.conformance.clients.remoting_topics import group_request, route_request, topic_request
from rocketmq_testkit.conformance.deployment.target import REFERENCE_VERSION
from rocketmq_testkit.conformance.targets.apache import ApacheBroker
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

ROUTE_SECONDS_MAX = 30.0
"""Timeout for a route: a newly started broker reports a new topic to its name server at its next registration."""
CATCH_UP_SECONDS_MAX = 120.0
"""Seconds for the revive of a hundred thousand messages whose invisible durations have all ended."""

_TICKS = os.sysconf("SC_CLK_TCK")


class Processes(Protocol):
    """One or more running processes that belong together."""

    @property
    def pids(self) -> list[int]:
        """The process ids."""


class Server(Processes, Protocol):
    """A running server: `host:port` of name server, broker and gRPC endpoint; `start_ms`: duration of its start."""

    name: str
    namesrv: str
    broker: str
    endpoint: str
    start_ms: float


class EmulatorCommand:
    """`rocketmq-emulator` in a process of its own, with the command's defaults except for `words`.

    `command`: another program that takes the same words. `variables`: further environment variables.
    """

    name = "emulator"

    def __init__(self, *words: str, command: Sequence[str] = (), **variables: str) -> None:
        program = command or [str(Path(sys.executable).with_name("rocketmq-emulator"))]
        ports = [word for port in ("namesrv", "broker", "grpc", "control") for word in (f"--{port}-port", "0")]
        begin = time.perf_counter()
        self._process = subprocess.Popen(
            [*program, *ports, *words], stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}
        )
        if self._process.stdout is None:
            raise AssertionError("the process has no pipe for its output")
        ready = json.loads(self._process.stdout.readline())
        self.start_ms = (time.perf_counter() - begin) * 1000
        self.namesrv, self.broker, self.endpoint = ready["namesrv"], ready["broker"], ready["endpoint"]
        self.control = ready["control"]

    def ca_pem(self) -> bytes:
        """Return the certificate (PEM) of the authority that issued the server's certificate."""
        connection = http.client.HTTPConnection(urlsplit(self.control).netloc, timeout=10)
        connection.request("GET", "/v1/ca")
        with connection.getresponse() as response:
            pem = response.read()
        connection.close()
        return pem

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(10)

    @property
    def pids(self) -> list[int]:
        return [self._process.pid]


class RealBroker(ApacheBroker):
    """The reference version of the real broker, which gets a certificate, because it needs seconds to generate one."""

    name = f"Apache {REFERENCE_VERSION}"

    def __enter__(self) -> Self:
        super().__enter__()
        self.start_ms = self.start_seconds * 1000
        return self

    start_ms = 0.0


@contextmanager
def frozen(servers: Iterable[Server]) -> Iterator[None]:
    """Stop the processes of servers while the block runs, because an idle server takes processor time as well.

    The block should take less than two minutes: a name server removes a broker that is silent for so long.
    """
    pids = [pid for server in servers for pid in server.pids]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def catch_up(server: Server) -> None:
    """Wait until a server that was stopped meanwhile responds: events of all that time are due at once.

    Raises RemotingTimeout after CATCH_UP_SECONDS_MAX.
    """
    broker = (server.broker, RequestCode.GET_BROKER_RUNTIME_INFO)
    for address, code in (broker, (server.namesrv, RequestCode.GET_BROKER_CLUSTER_INFO)):
        with RemotingClient(address, timeout=CATCH_UP_SECONDS_MAX) as client:
            client.request(code)


def cpu_seconds(processes: Processes) -> float:
    """Return the processor time used so far, in seconds."""
    total = 0
    for pid in processes.pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def resident_mib(server: Server) -> float:
    """Return the resident memory of a server in MiB."""
    kib = 0
    for pid in server.pids:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                kib += int(line.split()[1])
    return kib / 1024


def pop_mode(server: Server, topic: str, group: str) -> None:
    """Switch a group to pops of a topic, for push consumers that leave the rebalance to the broker."""
    with RemotingClient(server.broker) as client:
        response = client.request(*mode_request(topic, group, "POP", 8))
        if response.code != 0:
            raise RuntimeError(f"{server.name} does not set the mode of {group}: {response.remark}")


def create_group(server: Server, group: str, **config: object) -> None:
    """Create a subscription group by a remoting request; `config`: fields of SubscriptionGroupConfig."""
    with RemotingClient(server.broker) as client:
        response = client.request(*group_request(group, **config))
        if response.code != 0:
            raise RuntimeError(f"{server.name} does not create {group}: {response.remark}")


def create_topic(server: Server, topic: str, queues: int = 8, kind: str = "NORMAL") -> None:
    """Create a topic for one kind of messages by a remoting request, and wait until the name server has its route."""
    with RemotingClient(server.broker) as client:
        response = client.request(*topic_request(topic, queues=queues, kind=kind))
        if response.code != 0:
            raise RuntimeError(f"{server.name} does not create {topic}: {response.remark}")
    deadline = time.monotonic() + ROUTE_SECONDS_MAX
    with RemotingClient(server.namesrv) as client:
        while (response := client.request(*route_request(topic))).code != 0:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{server.name} does not register {topic}: {response.remark}")
            time.sleep(0.05)


def send_one(server: Server, topic: str) -> None:
    """Send one message and check that it was stored."""
    with RemotingClient(server.broker) as client:
        response = client.request(*send_request(topic, b"x", born_ms=int(time.time() * 1000), tag="a"))
        if response.code != 0:
            raise RuntimeError(f"{server.name} does not store a message: {response.remark}")
