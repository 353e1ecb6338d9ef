"""Every SDK, unmodified, sends and receives through the emulator in every way that it can consume."""

from typing import Protocol

import pytest
from rocketmq_testkit.conformance.drivers import registry, smoke
from rocketmq_testkit.conformance.drivers.process import Driver
from sdk_ways import WAYS

EACH = [(sdk, style) for sdk, styles in WAYS.items() for style in styles]
SHARED = [(sdk, style) for sdk, style in EACH if style != "broadcast"]


class Server(smoke.Admin, Protocol):
    """What the fixture of this folder is to a test."""

    def start(self, sdk: str) -> Driver: ...


def test_every_sdk_has_its_row() -> None:
    """The table names exactly the SDKs that there are drivers of."""
    assert set(WAYS) == set(registry.names())


@pytest.mark.parametrize("sdk", WAYS)
def test_ways_to_consume(server: Server, sdk: str) -> None:
    """A driver offers exactly the ways that the table says."""
    with server.start(sdk) as driver:
        assert smoke.styles(driver) == WAYS[sdk]


@pytest.mark.parametrize(("sdk", "style"), EACH)
def test_everything_sent_is_received_once(server: Server, sdk: str, style: smoke.Style) -> None:
    """100 messages with keys, tags and properties arrive exactly once and whole, and stay consumed."""
    smoke.send_receive(lambda: server.start(sdk), style, server, f"{sdk.replace('.', '-')}-{style}")


@pytest.mark.parametrize(("sdk", "style"), SHARED)
def test_two_consumers_share_and_hand_over(server: Server, sdk: str, style: smoke.Style) -> None:
    """Both members of a group get messages, no message goes to both, and one takes over when the other leaves."""
    smoke.share_and_hand_over(lambda: server.start(sdk), style, server, f"{sdk.replace('.', '-')}-{style}")
