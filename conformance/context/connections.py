"""Connections to a deployment, with the encryption and credentials of its `Access`."""

import ssl
from typing import Any

from rocketmq_testkit.remoting.client import RemotingClient

from ..deployment.target import Access, Tls

CONNECT_SECONDS = 10.0


def open_connection(access: Access, address: str, **more: Any) -> RemotingClient:
    """Open a remoting connection to one of the deployment's addresses. Raises OSError."""
    settings: dict[str, Any] = {"timeout": CONNECT_SECONDS, "credentials": access.credentials, **more}
    if access.tls is not None:
        settings["tls"] = tls_context(access.tls)
    return RemotingClient(address, **settings)


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return a context that trusts the given authority, or any certificate if there is none."""
    context = ssl.create_default_context(cafile=None if tls.ca is None else str(tls.ca))
    context.check_hostname = False  # a broker's certificate names its cluster, not the address in the route
    if tls.ca is None:
        context.verify_mode = ssl.CERT_NONE
    return context
