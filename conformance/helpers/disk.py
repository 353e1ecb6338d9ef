"""A full disk, a disk with free space and a slow disk, shared by cases of both protocols and scenarios.

A real broker checks the usage of the disk that holds its store. Cases and scenarios need a disk that is more than 35 %
full, the lowest level that upstream accepts as the limit of a full disk. The emulator takes the usage from its
configuration.
"""

import re
from collections.abc import Mapping

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..context.case_context import CaseContext
from ..deployment.target import FULL_DISK_PERCENT_MIN, Capability

CAN_BE_FULL = frozenset({Capability.ADMIN, Capability.FULL_DISK})
"""Capabilities that the target must have."""

HALF_FULL: Mapping[str, str] = {"cleanResourceInterval": "1000", "diskUsedRatio": "50"}
"""Settings of a broker that checks its disk every second, starting one minute after its start."""
_LEVEL = "diskSpaceWarningLevelRatio"
FULL: Mapping[str, str] = {**HALF_FULL, _LEVEL: str(FULL_DISK_PERCENT_MIN)}
"""Settings of a broker whose disk is full from its first check on."""
FULL_BESIDE: Mapping[str, str] = {
    "second-broker.brokerName": "broker-b",
    **{f"second-broker.{key}": value for key, value in HALF_FULL.items()},
    f"second-broker.{_LEVEL}": str(FULL_DISK_PERCENT_MIN),
    _LEVEL: "90",
}
"""Settings of two brokers; the second one's disk is full from its first check on."""
_FIRST_LOOK_SECONDS = 58.0
"""Shortly before the first disk check of a newly started broker."""
_NOTICE_SECONDS = 90.0
"""Timeout for the disk check that notices a change."""
_DISK_USAGE = re.compile(r"\[CL: [^\]]*\]")
LATE_FLUSH: Mapping[str, str] = {
    "flushDiskType": "SYNC_FLUSH",
    "syncFlushTimeout": "-60000",
    "transientStorePoolEnable": "true",
    "transientStorePoolSize": "4",
    "mappedFileSizeCommitLog": "1048576",
    "maxMessageSize": "131072",
}
"""Settings with which every send times out before its flush begins, and buffers delay the flush of messages."""


def fill_disk(t: CaseContext) -> None:
    """Make the disk full, and wait until the broker has noticed it."""
    _set_level(t, FULL_DISK_PERCENT_MIN)
    t.wait(_FIRST_LOOK_SECONDS)
    until_full(t)


def until_full(t: CaseContext, to: RemotingClient | None = None) -> None:
    """Wait until a broker, by default the first, has noticed that its disk is full."""
    used = float(t.runtime_info(to)["commitLogDiskRatio"])
    t.require(
        used * 100 > FULL_DISK_PERCENT_MIN,
        f"the disk of the broker has to be used by more than {FULL_DISK_PERCENT_MIN} %: {used:.0%}",
    )
    topic = t.topic(queues=1, to=to)
    t.require(t.until(lambda: _probe(t, topic, to) != 0, _NOTICE_SECONDS), "the broker did not find its disk full")


def free_disk(t: CaseContext) -> None:
    """Make free space again, and wait until the broker has noticed it."""
    topic = t.topic(queues=1)
    _set_level(t, 90)
    t.require(t.until(lambda: _probe(t, topic) == 0, _NOTICE_SECONDS), "the broker did not find room on its disk")


def without_disk_usage(text: str | None) -> str:
    """Replace the disk usage in a remark with `[disks]`."""
    return _DISK_USAGE.sub("[disks]", text or "")


def _set_level(t: CaseContext, percent: int) -> None:
    changed = t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, f"{_LEVEL}={percent}\n".encode())
    t.require(changed.code == 0, f"{_LEVEL} was not accepted: {changed}")


def _probe(t: CaseContext, topic: str, to: RemotingClient | None = None) -> int:
    return t.request(RequestCode.SEND_MESSAGE, t.send_fields(topic, unique=False), b"probe", to=to).code
