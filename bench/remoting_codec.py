"""Measures the processor time of the remoting layer alone, for each message, without sockets.

    python bench/remoting_codec.py [--messages N] [--profile]

It runs three layers of the same work, a send of 1 KiB as the Java client frames it: the codec (frame and header in,
response out), the whole layer with a node that stores nothing, and the layer with the real engine.
"""

import argparse
import cProfile
import pstats
from collections.abc import Callable
from time import process_time

from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.gate.call import Call
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import ChannelClosed
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.remoting.processors.send import SendMessageRequestHeaderV2
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.server.dispatcher import BrokerNode, RemotingDispatcher
from rocketmq_testkit.remoting.server.server_channel import RemotingChannel
from rocketmq_testkit.remoting.server.server_connection import ServerConnection
from rocketmq_testkit.remoting.wire import frame, header_json
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from rocketmq_testkit.remoting.wire.response_frame import encode_response

PIPELINED = 16
"""Frames in one piece of bytes: about as many as 64 threads send over one connection."""

STORED = SendResult(ResponseCode.SUCCESS, "7F00000100002A9F0000000000000000", 1, 77, "FD" + "0" * 30, 5)


class Sink:
    """A broker that stores nothing."""

    name = "sink"

    def __init__(self) -> None:
        self.config = BrokerConfig()
        self.handlers = {SendMessage: self._send, ChannelClosed: self._send}
        of_another = Engine().brokers[0]
        self.responses = of_another.responses
        self.request_pools = of_another.request_pools  # with free threads only
        self.access = of_another.access  # with authentication off

    def count_connection(self, what: str) -> None:
        """Do not count connections."""

    def _send(self, call: Call, operation: Operation) -> SendResult:
        return STORED


def sends(count: int) -> list[bytes]:
    """Return pieces of bytes with `count` sends in total."""
    frames = []
    for n in range(count):
        header = SendMessageRequestHeaderV2(
            producer_group="PG",
            topic="bench",
            queue_id=n % 4,
            sys_flag=0,
            born_timestamp=1_700_000_000_000,
            flag=0,
            properties=f"KEYS\x01key-{n}\x02UNIQ_KEY\x01FD{n:030X}\x02WAIT\x01true\x02TAGS\x01TagA\x02",
        )
        ext = {**header.ext_fields(), "n": "broker-a"}
        frames.append(
            frame.encode(RemotingCommand(RequestCode.SEND_MESSAGE_V2, opaque=n, ext_fields=ext, body=b"x" * 1024))
        )
    return [b"".join(frames[at : at + PIPELINED]) for at in range(0, count, PIPELINED)]


def codec(pieces: list[bytes]) -> None:
    """Decode frames and headers and encode responses, without handling requests."""
    splitter = frame.FrameSplitter()
    parse = SendMessageRequestHeaderV2.parse
    for piece in pieces:
        for _, header, _ in splitter.feed(piece):
            members = header_json.loads(header)
            parse(members["extFields"])
            encode_response(members["opaque"], 0, None, {"msgId": STORED.msg_id, "queueId": "1", "queueOffset": "77"})


def connection(engine: Engine, broker: BrokerNode) -> ServerConnection:
    """Return a client's connection whose responses are discarded."""
    dispatcher = RemotingDispatcher(
        gate=engine.gate,
        broker=broker,
        name_server=None,
        broker_address=lambda name, broker_id, channel: "",
        log=print,
    )
    return ServerConnection(
        dispatcher, RemotingChannel(dispatcher, ("127.0.0.1", 1), ("127.0.0.1", 2), lambda data: None)
    )


def served(broker: BrokerNode | None = None) -> Callable[[list[bytes]], None]:
    """Return a function that passes requests through the layer to a broker, by default the engine's."""
    engine = Engine(now_ms=1_700_000_000_000)
    receiver = connection(engine, broker or engine.brokers[0])

    def serve(pieces: list[bytes]) -> None:
        for piece in pieces:
            receiver.received(piece)

    return serve


def main() -> None:
    """Print microseconds of processor time for each message, the best of five rounds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=20_000, help="send this number of messages (default 20,000)")
    parser.add_argument("--profile", action="store_true", help="profile the last layer")
    options = parser.parse_args()
    pieces = sends(options.messages)
    layers = {"codec": codec, "remoting layer": served(Sink()), "with the engine": served()}
    for name, work in layers.items():
        best = float("inf")
        for _ in range(5):
            began = process_time()
            work(pieces)
            best = min(best, process_time() - began)
        print(f"{name:16} {best / options.messages * 1e6:6.2f} us a message")
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(layers["with the engine"], pieces)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
