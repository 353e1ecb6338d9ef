"""Requests that read and change the configuration of a broker."""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.remoting_response import DecodedResponse
from ..context.remoting import RemotingContext


def settings_of(body: bytes) -> dict[str, str]:
    """Parse a properties text."""
    return dict(line.split("=", 1) for line in body.decode().splitlines() if "=" in line and line[0] != "#")


def change(t: RemotingContext, text: str | bytes) -> DecodedResponse:
    """Change settings with a properties text."""
    return t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, text.encode() if isinstance(text, str) else text)


def read_settings(t: RemotingContext, *names: str) -> dict[str, str | None]:
    """Return some settings of the broker's configuration."""
    settings = settings_of(t.request(RequestCode.GET_BROKER_CONFIG, {}).body)
    return {name: settings.get(name) for name in names}
