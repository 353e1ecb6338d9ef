"""Situations of a real broker, as context managers for `t.faulty`; on the emulator a fault causes them."""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.json_text import dumps
from ..context.case_context import CaseContext
from .disk import fill_disk, free_disk

REFUSE_APPEND = "refuse_append"
SMALL_LOG: Mapping[str, str] = {"mappedFileSizeCommitLog": "1048576", "maxMessageSize": "262144"}
"""Settings of a broker whose log needs a new file after 1 MiB."""
_FILES = 10
_PIECE = bytes(200_000)


def try_connection(t: CaseContext, address: str | None = None) -> str:
    """Connect to an address, by default the broker's: `accepted` or `refused`."""
    try:
        t.disconnect(t.connect(address))
    except ConnectionRefusedError:
        return "refused"
    return "accepted"


def refusing_appends(
    t: CaseContext, reason: str, reach: AbstractContextManager[object] | None = None
) -> AbstractContextManager[None]:
    """Make the broker refuse appends, or not confirm them, for a `reason` of the fault `refuse_append`.

    `reach` does so on a real broker; None if its settings suffice.
    """
    return t.faulty({"then": {REFUSE_APPEND: {"reason": reason}}}, lambda: nullcontext() if reach is None else reach)


@contextmanager
def full_disk(t: CaseContext) -> Iterator[None]:
    """Make the disk full within the block, on a broker with the settings HALF_FULL. It takes at least a minute."""
    fill_disk(t)
    try:
        yield
    finally:
        free_disk(t)


@contextmanager
def blocked_log(t: CaseContext) -> Iterator[None]:
    """Make the commit log full within the block, on a broker with the settings SMALL_LOG.

    The first file is filled, and folders with the names of the next ones prevent that the broker creates them.
    """
    topic = t.topic(queues=1)
    size = int(SMALL_LOG["mappedFileSizeCommitLog"])
    folders = [t.deployment.commit_log / f"{number * size:020}" for number in range(1, _FILES)]
    made = [each for each in folders if _make(each)]
    try:
        sent = [_store(t, topic) for _ in range(len(folders) * size // len(_PIECE))]
        t.require(sent[0] == 0 and sent[-1] != 0, f"the log should be full after some messages: {sent}")
        yield
    finally:
        for each in made:
            each.rmdir()


def _make(folder: Path) -> bool:
    with suppress(FileExistsError):
        folder.mkdir(parents=True)
        return True
    return False


def _store(t: CaseContext, topic: str) -> int:
    return t.request(RequestCode.SEND_MESSAGE, t.send_fields(topic), _PIECE).code


@contextmanager
def hidden_route(t: CaseContext, topic: str) -> Iterator[None]:
    """Delete a topic with one queue at the name server only. A change of the topic registers it again."""
    deleted = t.request(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}, to=t.namesrv)
    t.require(deleted.code == 0, f"the route was not deleted: {deleted}")
    try:
        yield
    finally:
        t.topic(name=topic, queues=2)


@contextmanager
def registered_with_address(t: CaseContext, address: str) -> Iterator[None]:
    """Register the broker with another address at the name server, until the broker registers itself again."""
    _register(t, address, {})
    try:
        yield
    finally:
        t.topic(queues=1)


@contextmanager
def registered_with_queues(t: CaseContext, topic: str, *, queues: int, real_queues: int) -> Iterator[None]:
    """Change the number of queues of a topic at the broker, and register the old number at the name server.

    The next change of the topic registers it again.
    """
    t.topic(name=topic, queues=real_queues)
    config = {
        "topicName": topic,
        "readQueueNums": queues,
        "writeQueueNums": queues,
        "perm": 6,
        "order": False,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "attributes": {},
    }
    _register(t, t.broker_address, {topic: config})
    yield


def _register(t: CaseContext, address: str, topics: Mapping[str, object]) -> None:
    """Register the master with a name server as brokers do (BrokerOuterAPI.registerBroker)."""
    version = {"counter": 1_000, "stateVersion": 0, "timestamp": t.now_ms()}
    wrapper = {"dataVersion": version, "topicConfigTable": topics}
    body = dumps({"topicConfigSerializeWrapper": wrapper, "filterServerList": []})
    fields = {
        "brokerName": t.broker_name,
        "brokerAddr": address,
        "clusterName": t.cluster,
        "haServerAddr": address,
        "brokerId": 0,
        "compressed": False,
        "bodyCrc32": zlib.crc32(body),
    }
    registered = t.request(RequestCode.REGISTER_BROKER, fields, body, to=t.namesrv)
    t.require(registered.code == 0, f"the broker was not registered: {registered}")
