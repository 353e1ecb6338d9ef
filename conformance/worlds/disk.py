"""A disk that is full, one that is not, and one that is slow: what cases of both protocols and scenarios share.

A real broker reads how full the disk is that its store lies on; cases and scenarios need one that is used by more than
35 %, the least level that upstream takes for full. The emulator is told.
"""

import re
from collections.abc import Mapping

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..targets.target import FULL_FROM, Capability
from .world import World

CAN_BE_FULL = frozenset({Capability.ADMIN, Capability.FULL_DISK})
"""What a target must be able to do."""

HALF_FULL: Mapping[str, str] = {"cleanResourceInterval": "1000", "diskUsedRatio": "50"}
"""Settings of a broker that looks at its disk every second, from a minute after its start on."""
_LEVEL = "diskSpaceWarningLevelRatio"
FULL: Mapping[str, str] = {**HALF_FULL, _LEVEL: str(FULL_FROM)}
"""Settings of a broker whose disk is full as soon as it has looked."""
FULL_BESIDE: Mapping[str, str] = {
    "beside.brokerName": "broker-b",
    **{f"beside.{key}": value for key, value in HALF_FULL.items()},
    f"beside.{_LEVEL}": str(FULL_FROM),
    _LEVEL: "90",
}
"""Settings of two brokers of which the second one's disk is full as soon as it has looked."""
_FIRST_LOOK_SECONDS = 58.0
"""Just before it, in a broker that has just started."""
_LOOKS_SECONDS = 90.0
_SHARES = re.compile(r"\[CL: [^\]]*\]")
TOO_LATE: Mapping[str, str] = {
    "flushDiskType": "SYNC_FLUSH",
    "syncFlushTimeout": "-60000",
    "transientStorePoolEnable": "true",
    "transientStorePoolSize": "4",
    "mappedFileSizeCommitLog": "1048576",
    "maxMessageSize": "131072",
}
"""Every send gives up waiting a minute before it has begun to, and buffers keep messages from the disk for a while."""


def fill_up(t: World) -> None:
    """Let the disk be full, and return when the broker has seen it."""
    _set_level(t, FULL_FROM)
    t.wait(_FIRST_LOOK_SECONDS)
    until_full(t)


def until_full(t: World, to: RemotingClient | None = None) -> None:
    """Return when a broker, the first if no other is given, has seen that its disk is full."""
    used = float(t.runtime_info(to)["commitLogDiskRatio"])
    t.require(used * 100 > FULL_FROM, f"the disk of the broker has to be used by more than {FULL_FROM} %: {used:.0%}")
    topic = t.topic(queues=1, to=to)
    t.require(t.until(lambda: _probe(t, topic, to) != 0, _LOOKS_SECONDS), "the broker did not find its disk full")


def make_room(t: World) -> None:
    """Let there be room again, and return when the broker has seen it."""
    topic = t.topic(queues=1)
    _set_level(t, 90)
    t.require(t.until(lambda: _probe(t, topic) == 0, _LOOKS_SECONDS), "the broker did not find room on its disk")


def without_shares(text: str | None) -> str:
    """A remark without how full the disks are."""
    return _SHARES.sub("[disks]", text or "")


def _set_level(t: World, percent: int) -> None:
    changed = t.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, f"{_LEVEL}={percent}\n".encode())
    t.require(changed.code == 0, f"{_LEVEL} was not taken: {changed}")


def _probe(t: World, topic: str, to: RemotingClient | None = None) -> int:
    return t.ask(RequestCode.SEND_MESSAGE, t.send_fields(topic, unique=False), b"probe", to=to).code
