"""Waits until a name server knows newly started brokers, and makes them register sooner."""

import time
from collections.abc import Callable, Sequence

from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..deployment.target import TargetError

_SECONDS_MAX = 40.0
"""Longest wait for a registration."""
_FIRST_SECONDS = 0.3
"""Time until a registration takes effect, with some margin."""


def wait_registered(namesrv: str, addresses: Sequence[str], log_tail: Callable[[], str]) -> None:
    """Wait until the name server knows the brokers at these addresses, which accept connections. Raises TargetError.

    A broker registers once when it starts, and again 10 s later. If it was not yet connected to the name server, its
    first registration is lost, so this function makes it register now.
    """
    begin = time.monotonic()
    has_forced = False
    with RemotingClient(namesrv) as client:
        while missing := _missing(client, addresses):
            seconds = time.monotonic() - begin
            if seconds > _SECONDS_MAX:
                raise TargetError(f"the broker did not register with its name server:\n{log_tail()}")
            if seconds > _FIRST_SECONDS and not has_forced:
                has_forced = True
                for address in missing:
                    _make_register(address)
            time.sleep(0.02)


def _missing(client: RemotingClient, addresses: Sequence[str]) -> list[str]:
    known = client.request(RequestCode.GET_BROKER_CLUSTER_INFO).body
    return [address for address in addresses if address.encode() not in known]


def _make_register(address: str) -> None:
    """Make a broker register now by setting the permission that it already has.

    A broker that rejects this request registers at its next interval. Source: AdminBrokerProcessor (5.3.3).
    """
    with RemotingClient(address) as client:
        lines = client.request(RequestCode.GET_BROKER_CONFIG).body.decode(errors="replace").splitlines()
        own = next((line for line in lines if line.startswith("brokerPermission=")), None)
        if own is not None:
            client.request(RequestCode.UPDATE_BROKER_CONFIG, body=own.encode())
