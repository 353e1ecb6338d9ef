"""The interoperability cases of grpc-go with the TestService on this transport."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from tests.grpc_v2.transport.conftest import Served
from tests.grpc_v2.transport.go_judges import INTEROP_CLIENT, built
from tests.grpc_v2.transport.interop_service import InteropService
from tests.grpc_v2.transport.reactor_thread import ReactorThread

pytestmark = pytest.mark.xdist_group("interop-go")
"""The first test builds the client; on one worker, no other worker waits for the build."""

_CASES = [
    "empty_unary",
    "large_unary",
    "client_streaming",
    "server_streaming",
    "ping_pong",
    "empty_stream",
    "custom_metadata",
    "status_code_and_message",
    "special_status_message",
    "unimplemented_method",
    "unimplemented_service",
    "cancel_after_begin",
    "cancel_after_first_response",
    "timeout_on_sleeping_server",
]


@pytest.mark.parametrize("case", _CASES)
def test_an_interop_case_of_grpc_go_passes(
    case: str, serve: Callable[..., Served], reactor_thread: ReactorThread
) -> None:
    """The case passes, and nothing is logged: no handler and no connection failed."""
    served = serve(InteropService(reactor_thread.reactor).methods())
    command = [str(built(INTEROP_CLIENT)), "-server", f"127.0.0.1:{served.port}", "-case", case]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not served.log
