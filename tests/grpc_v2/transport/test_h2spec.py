"""The HTTP/2 conformance suite h2spec, completely and in strict mode."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from rocketmq_testkit.grpc_v2.transport import Limits

from tests.grpc_v2.transport.conftest import Served
from tests.grpc_v2.transport.go_judges import H2SPEC, built
from tests.grpc_v2.transport.wire import unary

_CASES = 146


def test_every_h2spec_case_passes_in_strict_mode(serve: Callable[..., Served], tmp_path: Path) -> None:
    """Every case of the groups generic, http2 and hpack passes, and none is skipped."""
    # The suite opens one stream above the limit.
    served = serve([unary()], Limits(max_concurrent_streams=100))
    report = tmp_path / "report.xml"
    command = [str(built(H2SPEC)), "--strict", "--host", "127.0.0.1", "--port", str(served.port), "--timeout", "5"]
    done = subprocess.run(
        [*command, "--junit-report", report, "generic", "http2", "hpack"], capture_output=True, text=True, timeout=300
    )
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = [
        f"{case.get('package')}: {case.get('classname')}"
        for case in cases
        if any(case.find(mark) is not None for mark in ("failure", "error", "skipped"))
    ]
    assert not failed, done.stdout
    assert done.returncode == 0
    assert len(cases) == _CASES
