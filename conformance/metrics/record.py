"""Records the metrics of a real broker and of a real proxy after the traffic.

    python -m rocketmq_testkit.conformance.metrics.record [VERSION]

It starts the broker twice, with the proxy in its process and with a proxy of its own, and writes
`conformance/recorded/metrics-VERSION.json` with version and date. It takes a minute.
"""

import json
import re
import socket
import sys
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..context.grpc import GrpcContext
from ..context.remoting import RemotingContext
from ..deployment.target import PROXY, REFERENCE_VERSION
from ..targets.apache_target import ApacheTarget
from .recorded import RECORDED, file_of
from .traffic import TOKEN, run


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _read(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as response:
        text: str = response.read().decode()
        return text


def _without_time(text: str) -> list[str]:
    """Return the sorted lines of a scrape without the time of each sample."""
    return sorted({re.sub(r"(\} \S+) \d+$", r"\1", line) for line in text.splitlines()})


def _local(target: ApacheTarget) -> Mapping[str, list[str]]:
    port, found = _free_port(), {}
    keys = {"metricsExporterType": "PROM", "metricsPromExporterPort": str(port)}
    with (
        target.lend(keys, alone=True) as deployment,
        RemotingContext(deployment, TOKEN) as t,
        GrpcContext(deployment, TOKEN) as g,
    ):
        run(t, g, lambda moment: found.update({moment: _without_time(_read(port))}))
    return found


def _proxy(target: ApacheTarget) -> list[str]:
    port = _free_port()
    exporter = {"proxyMode": "CLUSTER", "metricsExporterType": "PROM", "metricsPromExporterPort": str(port)}
    with target.lend({f"{PROXY}{key}": value for key, value in exporter.items()}, alone=True):
        return _without_time(_read(port))


def main(version: str = REFERENCE_VERSION) -> None:
    """Write the record of a version."""
    with ApacheTarget(version) as target:
        record: dict[str, Any] = {
            "version": version,
            "date": datetime.now(UTC).date().isoformat(),
            "broker": _local(target),
            "proxy": _proxy(target),
        }
    RECORDED.mkdir(exist_ok=True)
    file_of(version).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
