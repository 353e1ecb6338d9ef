"""Runs with many seeds through the direct API and light clients of both protocols, and digests of their journals.

    python tests/support/seeded_runs.py {direct,remoting,grpc} FIRST COUNT

prints the digest of the exported journal of each seed, one a line.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rocketmq_testkit import Emulator, faults
from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient, open_channel
from rocketmq_testkit.conformance.clients.remoting_consumption import pop_request
from rocketmq_testkit.conformance.clients.remoting_members import consumer_data, heartbeat_request, subscription
from rocketmq_testkit.conformance.clients.remoting_sends import send_back_request, send_request
from rocketmq_testkit.conformance.clients.remoting_topics import route_request
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import RemotingClient, decode_messages

START = "2026-01-31T12:00:00Z"
JITTER = "20ms±15ms"


@contextmanager
def emulator(seed: int) -> Iterator[Emulator]:
    """Start an emulator whose random choices are those of a seed, with faults that draw by chance."""
    rules = [
        faults.duplicate_request(operation="SendMessage", topic="orders", probability=0.5),
        faults.respond("SYSTEM_BUSY", operation="SendMessage", topic="busy", probability=0.5, strict=False),
        faults.delay_request(JITTER, operation="SendMessage", topic="late"),
    ]
    topics = ["orders:NORMAL:8", "busy:NORMAL:4", "late:NORMAL:4"]
    with Emulator(time="frozen", start_at=START, seed=seed, topics=topics, faults=rules) as running:
        yield running


def direct(running: Emulator, _stack: ExitStack) -> None:
    """Send to random queues, jump, crash, restore and reset offsets without a client."""
    orders = running.topic("orders")
    for number in range(8):
        orders.send(b"%d" % number, keys=[f"k{number}"], tag="tea")
    running.clock.advance("3s")
    running.crash(power_loss=False)
    for number in range(4):
        orders.send(b"again %d" % number)
    running.restart()
    running.clock.advance_to_next()


def remoting(running: Emulator, stack: ExitStack) -> None:
    """Send, pop, and send back through connections of the remoting protocol, which the caller closes."""
    now_ms = running.clock.now_ms
    names, client = (
        stack.enter_context(RemotingClient(address, timeout=30)) for address in (running.namesrv, running.broker)
    )
    names.request(*route_request("orders"))
    group = consumer_data("billing", subscription("orders", "*"))
    client.request(*heartbeat_request("client-1", consumers=[group]))
    for topic in ("orders", "busy"):
        for number in range(4):
            client.request(*send_request(topic, b"%d" % number, born_ms=now_ms, queue=-1))
    late = [client.submit(*send_request("late", b"x", born_ms=now_ms, queue=-1)) for _ in range(2)]
    _advance_until_stored(running, 2)
    for opaque in late:
        client.collect(opaque)
    for each in decode_messages(client.request(*pop_request("orders", "billing")).body)[:2]:
        client.request(*send_back_request("billing", each.physical_offset, 3))
    running.clock.advance("61s", wait=None)


def grpc(running: Emulator, stack: ExitStack) -> None:
    """Send, receive and acknowledge through the proxy; without deadlines, which grpcio writes as the time left."""
    client = stack.enter_context(GrpcClient(open_channel(running.endpoint)))

    def call(rpc: str, request: Any) -> Callable[[], Any]:
        return client.start_call(rpc, request, deadline=None)

    client.open("client", grpc_requests.subscribing("billing", {"orders": "*"})).command()
    call("QueryRoute", grpc_requests.route("orders", grpc_requests.endpoints(running.endpoint)))()
    for number in range(4):
        for topic in ("orders", "busy"):
            call("SendMessage", _message(topic, number))()
    call("Heartbeat", grpc_requests.heartbeat("billing"))()
    late = call("SendMessage", _message("late", 1))
    _advance_until_stored(running, 1)
    late()
    request = grpc_requests.receive("orders", "billing", broker="broker-a", max_messages=4, poll_ms=5_000)
    for each in client.start_receiving(request, deadline=30)().messages[:3]:
        system = each.system_properties
        call("AckMessage", grpc_requests.ack("orders", "billing", (system.message_id, system.receipt_handle)))()
    running.clock.advance("61s", wait=None)


def _message(topic: str, number: int) -> Any:
    made = grpc_requests.message(topic, b"%d" % number, message_id=f"{topic}-{number}")
    return sv.SendMessageRequest(messages=[made])


def _advance_until_stored(running: Emulator, count: int) -> None:
    """Wait until requests that a rule delays have arrived, and move the clock to the end of their delays."""
    while len([each for each in running.clock.scheduled() if each.kind == "fault"]) < count:
        pass
    running.clock.advance("50ms", wait=None)


CLIENTS: Mapping[str, Callable[[Emulator, ExitStack], None]] = {"direct": direct, "remoting": remoting, "grpc": grpc}


def journal(client: str, seed: int, folder: Path) -> bytes:
    """Return the exported journal of one run."""
    with emulator(seed) as running, ExitStack() as stack:
        CLIENTS[client](running, stack)
        running.journal.export(folder / "journal.jsonl")
    return (folder / "journal.jsonl").read_bytes()


def main(words: list[str]) -> None:
    """Print the digests."""
    with TemporaryDirectory() as folder:
        for seed in range(int(words[1]), int(words[1]) + int(words[2])):
            print(hashlib.sha256(journal(words[0], seed, Path(folder))).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1:])
