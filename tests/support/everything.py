"""Reads all data that can be read: by every read-only request, by the direct interface, and by a snapshot."""

import io
import json
from collections.abc import Iterator
from typing import Any

from extremes import exchange, usual_body, usual_ext
from remoting_harness import Port
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.snapshot.snapshot_file import read_snapshot, write_snapshot
from rocketmq_testkit.fixtures.control.schema.json_form import entry, jsonable
from rocketmq_testkit.fixtures.inspect.direct_api import Direct
from rocketmq_testkit.remoting.bodies.reading import loads
from rocketmq_testkit.remoting.processors import PROCESSORS
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

BODY_MAX = 4 * 1024 * 1024
READERS = ("GET_", "QUERY_", "VIEW_", "SEARCH_", "AUTH_GET", "AUTH_LIST", "PEEK_", "NOTIFICATION", "POLLING_INFO",
           "CHECK_", "PULL_", "POP_MESSAGE")  # fmt: skip
"""Prefixes of the names of read-only request codes."""
_BINARY = (RequestCode.GET_TIMER_CHECK_POINT, RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID)


def read_everything(port: Port) -> None:
    """Send every read-only request, and read the lists of the direct interface, the journal and a snapshot."""
    reader = port.peer()
    for code in reading_codes():
        processor = PROCESSORS[code]
        for response in exchange(reader, code, usual_ext(processor), usual_body(processor)):
            if response.body and code not in _BINARY and not code.name.startswith(("PULL", "POP", "PEEK", "LITE")):
                decoded(code, response.body)
            check([response])
    for group in list(port.engine.brokers[0].groups.table):
        for code in (RequestCode.GET_CONSUMER_CONNECTION_LIST, RequestCode.GET_CONSUMER_LIST_BY_GROUP):
            check(exchange(reader, code, {"consumerGroup": group}, b""))
    for topic in list(port.engine.brokers[0].topics.table):
        for code in (RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_TOPIC_STATS_INFO):
            check(exchange(reader, code, {"topic": topic}, b""))
    direct = Direct(port.engine)
    for listed in (direct.topics(system=True), direct.groups(system=True), direct.broker_states()):
        json.dumps(jsonable(listed)) if not isinstance(listed, list) else [
            json.dumps(jsonable(each)) for each in listed
        ]
    for topic in direct.topics(system=True):
        json.dumps([jsonable(message) for message in direct.messages(topic)])
    for index, line in enumerate(direct.journal):
        json.dumps(entry(index, line))
    file = io.BytesIO()
    write_snapshot(port.engine.state(), file)
    file.seek(0)
    Engine(state=read_snapshot(file))


def reading_codes() -> Iterator[RequestCode]:
    """Yield the read-only request codes."""
    for processor in PROCESSORS.values():
        if processor.code.name.startswith(READERS):
            yield processor.code


def decoded(code: RequestCode, body: bytes) -> Any:
    """Decode a body as another client does: UTF-8, and JSON unless it is a properties text."""
    text = body.decode()
    return text if code.name.endswith("_CONFIG") and not text.startswith("{") else loads(body)


def check(responses: list[RemotingCommand]) -> None:
    """Check that no response is larger than a client accepts, and that none shows a Python exception."""
    for response in responses:
        assert len(response.body) < BODY_MAX
        assert not (response.remark or "").startswith(("TypeError", "ValueError", "OverflowError", "KeyError"))
