"""Measure the server's CPU time for a unary call of 1 KiB, with a grpcio client in another process.

Run `python tests/grpc_v2/transport/bench_call_cpu.py [--calls N] [--in-flight N] [--metadata] [--profile] [--uvloop]`.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import subprocess
import sys
import time
from collections import deque

from twisted.internet.asyncioreactor import AsyncioSelectorReactor

PATH = "/bench.Echo/Unary"
BODY = bytes(range(256)) * 4
# As many headers as an SDK sends; one of them differs from call to call.
SDK_METADATA = [
    ("x-mq-language", "PYTHON"),
    ("x-mq-protocol", "v2"),
    ("x-mq-client-version", "5.1.1"),
    ("x-mq-date-time", "20250919T101112Z"),
    ("x-mq-client-id", "host@1234@0@abcdefghij"),
    ("x-mq-namespace", ""),
]


def client(port: int, calls: int, in_flight: int, metadata: bool) -> None:
    """Keep `in_flight` calls in flight until `calls` are done."""
    import uuid

    import grpc

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        unary = channel.unary_unary(PATH)
        pending: deque[grpc.Future] = deque()
        for _ in range(calls):
            headers = [*SDK_METADATA, ("x-mq-request-id", str(uuid.uuid4()))] if metadata else None
            if len(pending) >= in_flight:
                assert pending.popleft().result() == BODY
            pending.append(unary.future(BODY, timeout=30, metadata=headers))
        for call in pending:
            assert call.result() == BODY


def serve(options: argparse.Namespace) -> None:
    """Serve one client, and print the CPU time per call."""
    from rocketmq_testkit.grpc_v2.transport import GrpcMethod, MethodKind
    from rocketmq_testkit.grpc_v2.transport.twisted_server import GrpcServerFactory

    loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
    if options.uvloop:
        import uvloop

        loop = uvloop.new_event_loop()
    reactor = AsyncioSelectorReactor(loop)
    served = 0
    started = 0.0

    def echo(call, request):  # type: ignore[no-untyped-def]  # a script
        nonlocal served, started
        served += 1
        if served == 500:
            started = time.process_time()
        call.reply(request)

    factory = GrpcServerFactory([GrpcMethod(PATH, MethodKind.UNARY, bytes, echo)], clock=reactor)
    port = reactor.listenTCP(0, factory, interface="127.0.0.1").getHost().port
    command = [sys.executable, __file__, "--client", str(port), "--calls", str(options.calls + 500)]
    command += ["--in-flight", str(options.in_flight)] + (["--metadata"] if options.metadata else [])
    child = subprocess.Popen(command)
    began = time.monotonic()

    def watch() -> None:
        if child.poll() is None:
            reactor.callLater(0.05, watch)
        else:
            reactor.stop()

    reactor.callLater(0.05, watch)
    profile = cProfile.Profile()
    if options.profile:
        profile.enable()
    reactor.run(installSignalHandlers=False)
    used = time.process_time() - started
    profile.disable()
    assert child.returncode == 0, child.returncode
    rate = served / (time.monotonic() - began)
    print(f"{used / (served - 500) * 1e6:.1f} us CPU per call, {served} calls, about {rate:.0f} per second")
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(28)


def main() -> None:
    """Run the server, or with --client the client."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--metadata", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--client", type=int)
    options = parser.parse_args()
    if options.client is not None:
        client(options.client, options.calls, options.in_flight, options.metadata)
    else:
        serve(options)


if __name__ == "__main__":
    main()
