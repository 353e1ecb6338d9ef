"""Compares the HTTP parser of the control port with h11, by processor time.

    pip install --target /tmp/h11 h11 && PYTHONPATH=/tmp/h11 python bench/http_parser.py

prints the processor time that the import of each takes in a new process, and that of one request and its response: the
least of several rounds, by turns. It also lists the malformed requests that one accepts and the other refuses.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import h11
from rocketmq_testkit.fixtures.control.http.problems import HttpProblem
from rocketmq_testkit.fixtures.control.http.request import RequestReader
from rocketmq_testkit.fixtures.control.http.response import HttpResponse

ROUNDS, REQUESTS, STARTS = 7, 2_000, 25
LOADED = "import asyncio, collections, dataclasses, enum, json, re, typing"
"""Modules that the emulator loads in any case."""
HEAD = b"Host: 127.0.0.1:8090\r\nUser-Agent: Java-http-client/17\r\nAccept: */*\r\n"
BODY = b'{"text": "two teas"}'
LENGTH = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
WELL_FORMED = {
    "GET without a body": b"GET /v1/topics HTTP/1.1\r\n" + HEAD + b"Authorization: Bearer abc\r\n\r\n",
    "POST with a body": b"POST /v1/messages/orders HTTP/1.1\r\n" + HEAD + LENGTH,
}
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
MALFORMED = {
    "a length and chunks": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n" + CHUNKED,
    "chunks over HTTP/1.0": b"POST / HTTP/1.0\r\nHost: x\r\n" + CHUNKED,
    "lines without CR": b"GET / HTTP/1.1\nHost: x\n\n",
    "a folded header": b"GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
    "two lengths": b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
    "two tokens": b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
    "two origins": b"GET / HTTP/1.1\r\nHost: x\r\nOrigin: a\r\nOrigin: b\r\n\r\n",
    "a fragment": b"GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "a blank in a name": b"GET / HTTP/1.1\r\nHost: x\r\nX : a\r\n\r\n",
}
RESPONSE = HttpResponse(200, b'{"topics": []}\n')


def of_this_project(data: bytes, requests: int) -> None:
    """Read requests of one connection and encode their responses, as the control port does."""
    reader = RequestReader()
    for _ in range(requests):
        reader.feed(data)
        assert reader.next() is not None
        _ = RESPONSE.head(keep=True) + b'{"topics": []}\n'


def of_h11(data: bytes, requests: int) -> None:
    """Read requests of one connection and encode their responses with h11."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=16 * 1024)
    headers = [tuple(line.split(": ", 1)) for line in RESPONSE.head(keep=True).decode().split("\r\n")[1:] if line]
    for _ in range(requests):
        connection.receive_data(data)
        dict(connection.next_event().headers)
        while not isinstance(connection.next_event(), h11.EndOfMessage):
            pass
        for event in (h11.Response(status_code=200, headers=headers), h11.Data(data=b'{"topics": []}\n')):
            connection.send(event)
        connection.send(h11.EndOfMessage())
        connection.start_next_cycle()


def is_accepted_here(data: bytes) -> bool:
    """True if the parser of this project accepts a request."""
    reader = RequestReader()
    reader.feed(data)
    try:
        return reader.next() is not None
    except HttpProblem:
        return False


def is_accepted_by_h11(data: bytes) -> bool:
    """True if h11 accepts a request."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    try:
        return not isinstance(connection.next_event(), type(h11.NEED_DATA))
    except h11.RemoteProtocolError:
        return False


def import_ms(statement: str) -> float:
    """Return the processor time of a new process that runs a statement (ms)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def request_us(call: Callable[[bytes, int], None], data: bytes) -> float:
    """Return the processor time of one request (us)."""
    begin = time.process_time()
    call(data, REQUESTS)
    return 1e6 * (time.process_time() - begin) / REQUESTS


def main() -> int:
    """Measure and print."""
    starts = [(import_ms(LOADED), import_ms(f"{LOADED}, h11")) for _ in range(STARTS)]
    without, with_h11 = (min(each) for each in zip(*starts, strict=True))
    print(f"import of h11 {h11.__version__}: {with_h11 - without:.1f} ms")
    for name, data in WELL_FORMED.items():
        turns = [(request_us(of_this_project, data), request_us(of_h11, data)) for _ in range(ROUNDS)]
        ours, theirs = (min(each) for each in zip(*turns, strict=True))
        print(f"{name}: {ours:.0f} us here, {theirs:.0f} us with h11")
    for name, data in MALFORMED.items():
        print(f"{name}: {_verdict(is_accepted_here(data))} here, {_verdict(is_accepted_by_h11(data))} by h11")
    return 0


def _verdict(accepted: bool) -> str:
    return "accepted" if accepted else "refused"


if __name__ == "__main__":
    sys.exit(main())
