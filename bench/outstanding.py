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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from measured_clients import Clients, TrustedServer
from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient
from rocketmq_testkit.conformance.clients.grpc_response import Failure
from rocketmq_testkit.conformance.clients.receipt_handles import built_handle
from rocketmq_testkit.conformance.clients.remoting_consumption import ack_request, pop_request, pull_request
from rocketmq_testkit.conformance.clients.remoting_sends import end_fields, send_request
from rocketmq_testkit.conformance.clients.remoting_topics import max_offset_request
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode
from servers import create_group, create_topic
from without_faults import Unusable, by_turns, emulator, tree

TOPIC, GROUP, CLIENT = "work", "workers", "client"
BODY = bytes(1024)
RECEIVED = 32
WARM_UP_MESSAGES = 3_000
TURNS = 8
COMMIT, PREPARED = 8, 4
"""The value of commitOrRollback, and the sysFlag of a half message."""
BEGIN_MS = int(time.time() * 1000)
LATER_MS = BEGIN_MS + 3_600_000
"""A delivery time after the end of a measurement. It is the same in each request, as a recorded one needs."""
IN_ORDER = {"__SHARDINGKEY": "one"}
"""The property of the messages of one message group."""
HALF = {"TRAN_MSG": "true", "PGROUP": CLIENT, "UNIQ_KEY": "m"}
DELAYED = {"DELAY": "18"}
"""The longest delay level, two hours."""
Work = Callable[[int], None]
"""Handles a number of messages."""


def remoting_send(outstanding: int, clients: Clients, *, properties: Mapping[str, str] | None = None) -> Work:
    """Send over remoting."""
    client = clients.remoting()
    code, ext, body = send_request(TOPIC, BODY, born_ms=BEGIN_MS, tag="a", keys="k", properties=properties)

    def work(messages: int) -> None:
        for _ in range(messages // outstanding):
            for opaque in client.submit_many(code, [(ext, body)] * outstanding):
                if client.collect(opaque).code:
                    raise RuntimeError("a send over remoting failed")

    return work


def remoting_transactions(outstanding: int, clients: Clients) -> Work:
    """Send half messages over remoting, and commit them by oneway requests, as SDKs do."""
    client = clients.remoting()
    code, ext, body = send_request(
        TOPIC, BODY, born_ms=BEGIN_MS, tag="a", keys="k", properties=HALF, producerGroup=CLIENT, sysFlag=PREPARED
    )

    def end(sent: Mapping[str, str]) -> None:
        offset, place, message = sent["queueOffset"], int(sent["msgId"][-16:], 16), sent["transactionId"]
        fields = end_fields(CLIENT, COMMIT, offset=offset, place=place, message_id=message)
        client.oneway(RequestCode.END_TRANSACTION, fields)

    def work(messages: int) -> None:
        for _ in range(messages // outstanding):
            opaques = client.submit_many(code, [(ext, body)] * outstanding)
            for sent in [client.collect(opaque) for opaque in opaques]:
                if sent.code:
                    raise RuntimeError("a half message over remoting failed")
                end(sent.ext_fields or {})
        if client.request(*max_offset_request(TOPIC)).code:  # its response follows all commits
            raise RuntimeError("a query of an offset failed")

    return work


def remoting_pull(clients: Clients) -> Work:
    """Pull the first 32 messages of a queue over remoting, one request after the other."""
    client = clients.remoting()
    pull = pull_request(TOPIC, GROUP)

    def work(messages: int) -> None:
        for _ in range(messages // RECEIVED):
            if code := client.request(*pull).code:
                raise RuntimeError(f"a pull ended with code {code}")

    return work


def remoting_pop(outstanding: int, clients: Clients) -> Work:
    """Pop 32 messages at a time over remoting and acknowledge each of them. The sends are not measured."""
    client = clients.remoting()
    pop = pop_request(TOPIC, GROUP)

    def work(messages: int) -> None:
        done = 0
        while done < messages:
            found = client.request(*pop)
            received = decode_messages(found.body)
            if not received:
                raise RuntimeError(f"no message is left: {found}")
            acks = [
                (ack_request(TOPIC, GROUP, handle, each.queue_offset, queue=each.queue_id)[1], b"")
                for each in received
                for handle in [built_handle(each, found.ext_fields or {}, "broker-a")]
            ]
            for at in range(0, len(acks), outstanding):
                for opaque in client.submit_many(RequestCode.ACK_MESSAGE, acks[at : at + outstanding]):
                    if code := client.collect(opaque).code:
                        raise RuntimeError(f"an acknowledgement ended with code {code}")
            done += len(acks)

    return work


Request = sv.SendMessageRequest | sv.AckMessageRequest | sv.EndTransactionRequest


def _responses(client: GrpcClient, rpc: str, requests: Sequence[Request]) -> list[Any]:
    found = [wait() for wait in [client.start_call(rpc, each, client=CLIENT, deadline=60) for each in requests]]
    for response in found:
        if isinstance(response, Failure) or response.status.code != pb.OK:
            raise RuntimeError(f"{rpc} ended with {response}")
    return found


def grpc_send_request(message_id: str = "m", **system: Any) -> sv.SendMessageRequest:
    """Return the request of a send over gRPC; `system`: see `grpc_requests.message`."""
    message = grpc_requests.message(
        TOPIC, BODY, message_id=message_id, tag="a", keys=["k"], body_encoding=pb.IDENTITY, **system
    )
    return sv.SendMessageRequest(messages=[message])


def grpc_send(outstanding: int, clients: Clients, **system: Any) -> Work:
    """Send over gRPC; `system`: see `grpc_requests.message`."""
    client = clients.grpc()
    request = grpc_send_request(**system)

    def work(messages: int) -> None:
        for _ in range(messages // outstanding):
            _responses(client, "SendMessage", [request] * outstanding)

    return work


def grpc_transactions(outstanding: int, clients: Clients) -> Work:
    """Send half messages over gRPC, and commit them. Outstanding messages have different ids."""
    client = clients.grpc()
    halves = [grpc_send_request(f"m{number}", message_type=pb.TRANSACTION) for number in range(outstanding)]

    def work(messages: int) -> None:
        for _ in range(messages // outstanding):
            sent = _responses(client, "SendMessage", halves)
            ends = [grpc_requests.end(TOPIC, each.entries[0].transaction_id, pb.COMMIT) for each in sent]
            _responses(client, "EndTransaction", ends)

    return work


def grpc_receive(outstanding: int, clients: Clients) -> Work:
    """Receive 32 messages at a time over gRPC and acknowledge each of them. The sends are not measured."""
    client = clients.grpc()
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


@dataclass(frozen=True)
class Row:
    """A workload: the factory of its work, and what its server needs.

    `kind` is that of its messages (NORMAL, FIFO, DELAY, TRANSACTION), `is_stored` is True if it reads stored messages,
    and `tls` is True if its clients use TLS.
    """

    make: Callable[[Clients], Work]
    kind: str = "NORMAL"
    is_stored: bool = False
    tls: bool = False

    def prepare(self, server: TrustedServer, stored: int) -> None:
        """Create the topic, an ordered group for FIFO messages, and `stored` messages if the work reads them."""
        create_topic(server, TOPIC, kind=self.kind)
        is_ordered = self.kind == "FIFO"
        if is_ordered:
            create_group(server, GROUP, consumeMessageOrderly=True)
        if self.is_stored:
            with ExitStack() as stack:
                remoting_send(64, Clients(server, stack), properties=IN_ORDER if is_ordered else None)(stored)

    def work(self, server: TrustedServer, stack: ExitStack) -> Work:
        """Connect to a prepared server."""
        return self.make(Clients(server, stack, tls=self.tls))


ROWS: Mapping[str, Row] = {
    **{f"remoting send, {n} outstanding": Row(partial(remoting_send, n)) for n in (1, 8, 64)},
    "remoting pull of 32, 1 outstanding": Row(remoting_pull, is_stored=True),
    **{f"remoting pop of 32 + ack, {n} outstanding": Row(partial(remoting_pop, n), is_stored=True) for n in (1, 8)},
    **{f"gRPC send, {n} outstanding": Row(partial(grpc_send, n)) for n in (1, 8, 32)},
    **{f"gRPC receive 32 + ack, {n} outstanding": Row(partial(grpc_receive, n), is_stored=True) for n in (1, 8)},
    "remoting send with TLS, 64 outstanding": Row(partial(remoting_send, 64), tls=True),
    "gRPC send with TLS, 32 outstanding": Row(partial(grpc_send, 32), tls=True),
    "gRPC FIFO send, 8 outstanding": Row(partial(grpc_send, 8, message_group="one"), "FIFO"),
    "gRPC FIFO receive 32 + ack, 1 outstanding": Row(partial(grpc_receive, 1), "FIFO", is_stored=True),
    "remoting send with a delay level, 8 outstanding": Row(partial(remoting_send, 8, properties=DELAYED), "DELAY"),
    "gRPC send with a delivery time, 8 outstanding": Row(partial(grpc_send, 8, deliver_ms=LATER_MS), "DELAY"),
    "remoting transactions, 8 outstanding": Row(partial(remoting_transactions, 8), "TRANSACTION"),
    "gRPC transactions, 8 outstanding": Row(partial(grpc_transactions, 8), "TRANSACTION"),
}
"""The workloads by name."""


def measure(before: Path, after: Path, row: Row, messages: int) -> tuple[float, float]:
    """Measure one pair of new processes: return the microseconds of a message before and after."""
    share = max(messages // TURNS, 64)
    with ExitStack() as stack:
        servers = [stack.enter_context(emulator(checkout)) for checkout in (before, after)]
        for server in servers:
            row.prepare(server, WARM_UP_MESSAGES + (TURNS + 2) * (share + RECEIVED))
        works = [row.work(server, stack) for server in servers]
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
