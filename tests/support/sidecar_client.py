"""Real SDKs against the sidecar: started by its check, which says in the environment where it serves."""

import json
import os
import urllib.request
from dataclasses import dataclass

from rocketmq_testkit.conformance.drivers import smoke
from rocketmq_testkit.conformance.drivers.process import Addresses, start

CASES: tuple[tuple[str, smoke.Style], ...] = (
    ("python", "simple"),
    ("java-grpc", "simple"),
    ("java-remoting-4.9", "concurrent"),
)


@dataclass(frozen=True)
class ControlPort:
    """Makes topics and groups by HTTP."""

    url: str

    def create_topic(self, name: str, *, type: str = "NORMAL", queues: int = 4) -> None:  # noqa: A002 upstream's word
        """Make a topic."""
        self._post("topics", {"name": name, "type": type, "queues": queues})

    def create_group(self, name: str, *, orderly: bool = False) -> None:
        """Make a group."""
        self._post("groups", {"name": name, "orderly": orderly})

    def set_pop_mode(self, topic: str, group: str) -> None:
        """No case needs it."""
        raise AssertionError(f"{group} shall not pop from {topic}")

    def _post(self, path: str, fields: dict[str, object]) -> None:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/{path}", json.dumps(fields).encode(), headers)
        with urllib.request.urlopen(request, timeout=10):
            pass


def main() -> None:
    """Send 100 messages and receive each once, with each SDK."""
    control = ControlPort(os.environ["ROCKETMQ_CONTROL"])
    addresses = Addresses(namesrv=os.environ["ROCKETMQ_NAMESRV"], endpoint=os.environ["ROCKETMQ_ENDPOINT"])
    for sdk, style in CASES:
        smoke.send_receive(lambda sdk=sdk: start(sdk, addresses), style, control, f"sidecar-{sdk.replace('.', '-')}")  # type: ignore[misc]  # bound early


if __name__ == "__main__":
    main()
