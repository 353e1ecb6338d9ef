"""Compares two trees of the emulator: the server's processor time of messages, by the number of outstanding requests.

    python bench/outstanding.py BEFORE AFTER [--pairs 3] [--messages 8000] [--only TEXT]

BEFORE and AFTER are git revisions of this project, or folders with a checkout, of which one may have compiled modules.
For each pair the emulators of both trees run in processes of their own, and get the requests of one client by turns.
The client sends a number of requests in one piece and waits for all responses. Messages have 1 KiB. The processor time
is that of the server alone, so the speed of the client has no influence.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient, open_channel
from rocketmq_testkit.conformance.clients.grpc_response import Failure
from rocketmq_testkit.conformance.clients.receipt_handles import built_handle
from rocketmq_testkit.conformance.clients.remoting_consumption import ack_request, pop_request, pull_request
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import RemotingClient, decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode
from servers import Server, create_topic
from without_faults import Unusable, by_turns, emulator, tree

TOPIC, GROUP, CLIENT = "work", "workers", "client"
BODY = bytes(1024)
RECEIVED = 32
WARM_UP_MESSAGES = 3_000
TURNS = 8
Work = Callable[[int], None]
"""Handles a number of messages."""


def remoting_send(outstanding: int, server: Server, stack: ExitStack) -> Work:
    """Send over remoting."""
    client = stack.enter_context(RemotingClient(server.broker, timeout=60))
    code, ext, body = send_request(TOPIC, BODY, born_ms=int(time.time() * 1000), tag="a", keys="k")

    def work(messages: int) -> None:
        for _ in range(messages // outstanding):
            for opaque in client.submit_many(code, [(ext, body)] * outstanding):
                if client.collect(opaque, 60).code:
                    raise RuntimeError("a send over remoting failed")

    return work


def remoting_pull(server: Server, stack: ExitStack) -> Work:
    """Pull the first 32 messages of a queue over remoting, one request after the other."""
    client = stack.enter_context(RemotingClient(server.broker, timeout=60))
    pull = pull_request(TOPIC, GROUP)

    def work(messages: int) -> None:
        for _ in range(messages // RECEIVED):
            if code := client.request(*pull).code:
                raise RuntimeError(f"a pull ended with code {code}")

    return work


def remoting_pop(outstanding: int, server: Server, stack: ExitStack) -> Work:
    """Pop 32 messages at a time over remoting and acknowledge each of them. The sends are not measured."""
    client = stack.enter_context(RemotingClient(server.broker, timeout=60))
    pop = pop_request(TOPIC, GROUP)

    def work(messages: int) -> None:
        done = 0
        while done < messages:
            found = client.request(*pop)
            received = decode_messages(found.body)
            if not received:
                raise RuntimeError(f"no message is left: {found}")
            acks = [
                (ack_request(TOPIC, GROUP, handle, each.queue_offset, each.queue_id)[1], b"")
                for each in received
                for handle in [built_handle(each, found.ext_fields or {}, "broker-a")]
            ]
            for at in range(0, len(acks), outstanding):
                for opaque in client.submit_many(RequestCode.ACK_MESSAGE, acks[at : at + outstanding]):
                    if code := client.collect(opaque, 60).code:
                        raise RuntimeError(f"an acknowledgement ended with code {code}")
            done += len(acks)

    return work


def _responses(client: GrpcClient, rpc: str, requests: Sequence[sv.SendMessageRequest | sv.AckMessageRequest]) -> None:
    for response in [client.start_call(rpc, request, client=CLIENT, deadline=60) for request in requests]:
        found = response()
        if isinstance(found, Failure) or found.status.code != pb.OK:
            raise RuntimeError(f"{rpc} ended with {found}")


def grpc_send_request() -> sv.SendMessageRequest:
    """Return the request of each send over gRPC."""
    message = grpc_requests.message(TOPIC, BODY, message_id="m", tag="a", keys=["k"], body_encoding=pb.IDENTITY)
    return sv.SendMessageRequest(messages=[message])


def grpc_send(outstanding: int, server: Server, stack: ExitStack) -> Work:
    """Send over gRPC."""
    client = stack.enter_context(GrpcClient(open_channel(server.endpoint)))
    request = grpc_send_request()

    def work(messages: int) -> None:
        for _ in range(messages // outstanding):
            _responses(client, "SendMessage", [request] * outstanding)

    return work


def grpc_receive(outstanding: int, server: Server, stack: ExitStack) -> Work:
    """Receive 32 messages at a time over gRPC and acknowledge each of them. The sends are not measured."""
    client = stack.enter_context(GrpcClient(open_channel(server.endpoint)))
    client.open(CLIENT, grpc_requests.subscribing(GROUP, {TOPIC: "*"}))
    request = grpc_requests.receive(TOPIC, GROUP, broker="broker-a", max_messages=RECEIVED)

    def work(messages: int) -> None:
        done = 0
        while done < messages:
            received = client.start_receiving(request, client=CLIENT, deadline=60)()
            if not received.messages:
                raise RuntimeError(f"no message is left: {received}")
            acks = [
                grpc_requests.ack(
                    TOPIC, GROUP, (each.system_properties.message_id, each.system_properties.receipt_handle)
                )
                for each in received.messages
            ]
            for at in range(0, len(acks), outstanding):
                _responses(client, "AckMessage", acks[at : at + outstanding])
            done += len(acks)

    return work


ROWS: Mapping[str, tuple[Callable[[Server, ExitStack], Work], bool]] = {
    **{f"remoting send, {n} outstanding": (partial(remoting_send, n), False) for n in (1, 8, 64)},
    "remoting pull of 32, 1 outstanding": (remoting_pull, True),
    **{f"remoting pop of 32 + ack, {n} outstanding": (partial(remoting_pop, n), True) for n in (1, 8)},
    **{f"gRPC send, {n} outstanding": (partial(grpc_send, n), False) for n in (1, 8, 32)},
    **{f"gRPC receive 32 + ack, {n} outstanding": (partial(grpc_receive, n), True) for n in (1, 8)},
}
"""For each row the factory of its work, and True if it needs stored messages."""


def measure(
    before: Path, after: Path, row: tuple[Callable[[Server, ExitStack], Work], bool], messages: int
) -> tuple[float, float]:
    """Measure one pair of new processes: return the microseconds of a message before and after."""
    make, stored = row
    share = max(messages // TURNS, 64)
    with ExitStack() as stack:
        servers = [stack.enter_context(emulator(checkout)) for checkout in (before, after)]
        for server in servers:
            create_topic(server, TOPIC)
            if stored:
                remoting_send(64, server, stack)(WARM_UP_MESSAGES + (TURNS + 2) * (share + RECEIVED))
        works = [make(server, stack) for server in servers]
        for work in works:
            work(WARM_UP_MESSAGES)
        return by_turns(servers, works, share, TURNS)


def main(words: Sequence[str] | None = None) -> None:
    """Measure each row and print it as a row of a table in Markdown."""
    parser = argparse.ArgumentParser(description="Compare the processor time of two trees by outstanding requests.")
    parser.add_argument("before", help="git revision, or folder with a checkout")
    parser.add_argument("after", help="git revision, or folder with a checkout")
    parser.add_argument("--pairs", type=int, default=3, help="number of pairs of processes (default 3)")
    parser.add_argument("--messages", type=int, default=8_000, help="messages of each process (default 8000)")
    parser.add_argument("--only", default="", help="run only rows whose name contains this text")
    options = parser.parse_args(words)
    try:
        with tree(options.before) as before, tree(options.after) as after:
            print("| row | before, µs | after, µs | ratio of each pair | median |\n|---|---:|---:|---|---:|")
            for name, row in ROWS.items():
                if options.only not in name:
                    continue
                pairs = [measure(before, after, row, options.messages) for _ in range(options.pairs)]
                first, second = (statistics.median(times) for times in zip(*pairs, strict=True))
                ratios = [late / early for early, late in pairs]
                shown = ", ".join(f"{each:.2f}" for each in ratios)
                print(
                    f"| {name} | {first:.1f} | {second:.1f} | {shown} | {statistics.median(ratios):.2f} |", flush=True
                )
    except Unusable as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
