"""Connections to a place, encrypted and signed as its access says."""

import ssl
from typing import Any

from rocketmq_testkit.remoting.client import RemotingClient

from ..targets.target import Access, Tls

CONNECT_SECONDS = 10.0


def open_connection(access: Access, address: str, **more: Any) -> RemotingClient:
    """A remoting connection to one of the place's addresses. Raises OSError."""
    settings: dict[str, Any] = {"timeout": CONNECT_SECONDS, "credentials": access.credentials, **more}
    if access.tls is not None:
        settings["tls"] = tls_context(access.tls)
    return RemotingClient(address, **settings)


def tls_context(tls: Tls) -> ssl.SSLContext:
    """A context that trusts the given authority, or anyone."""
    context = ssl.create_default_context(cafile=None if tls.ca is None else str(tls.ca))
    context.check_hostname = False  # a broker's certificate names its cluster, not the address that a route gives
    if tls.ca is None:
        context.verify_mode = ssl.CERT_NONE
    return context
