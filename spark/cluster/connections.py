"""Connections to name servers and brokers, opened on demand and kept until the task or the planning ends."""

import ssl
import time
from collections.abc import Callable
from typing import TypeVar

from rocketmq_testkit.remoting.client import Credentials, RemotingClient
from rocketmq_testkit.remoting.client.closeable import Closeable

from ..errors import ClusterError, OptionError
from ..options.options import ConnectionOptions

T = TypeVar("T")

LOST = (OSError, ssl.SSLError)
"""Errors of a connection that is refused, lost or silent; client timeouts are OSErrors, too."""


class ClusterConnections(Closeable):
    """Clients by address. They are never pickled: each task creates its own."""

    def __init__(self, options: ConnectionOptions) -> None:
        self.options = options
        self._clients: dict[str, RemotingClient] = {}
        self._tls = _tls(options)
        self._credentials = None
        if options.access_key is not None and options.secret_key is not None:
            self._credentials = Credentials(options.access_key, options.secret_key, options.security_token)

    def to(self, address: str) -> RemotingClient:
        """Return the connection to an address. Raises OSError, or ClusterError for an untrusted certificate."""
        client = self._clients.get(address)
        if client is None:
            try:
                client = self._clients[address] = RemotingClient(
                    address,
                    timeout=self.options.request_timeout_ms / 1000,
                    tls=self._tls,
                    credentials=self._credentials,
                )
            except ssl.SSLCertVerificationError as error:
                # Retrying would not help.
                raise ClusterError(
                    f"the certificate of {address} is not trusted: {error.verify_message}; option tlsCaFile names "
                    "certificates to trust, tlsVerify=false trusts all"
                ) from error
            except ssl.SSLError as error:
                raise ConnectionError(f"{reason(error)}; does it serve TLS, as option tls=true says?") from error
        return client

    def drop(self, address: str) -> None:
        """Close a failed connection; the next use opens another one."""
        client = self._clients.pop(address, None)
        if client is not None:
            client.close()

    def close(self) -> None:
        """Close all connections."""
        for address in list(self._clients):
            self.drop(address)

    def with_retries(self, what: str, attempt: Callable[[], T]) -> T:
        """Call `attempt`, and retry it while a server is unavailable.

        Raises ClusterError with `what` and the last reason.
        """
        tries = self.options.retries + 1
        for left in reversed(range(tries)):
            try:
                return attempt()
            except (TemporaryError, *LOST) as error:
                if not left:
                    raise ClusterError(f"{what}: {reason(error)}, {tries} times") from error
                time.sleep(self.options.retry_interval_ms / 1000)
        raise AssertionError("there is at least one attempt, and the last one returns or raises")


class TemporaryError(Exception):
    """A server is busy or not ready; a retry may help."""


def reason(error: BaseException) -> str:
    """Return the text of an error, or its type if it has no text."""
    return str(error) or type(error).__name__


def _tls(options: ConnectionOptions) -> ssl.SSLContext | None:
    if not options.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=options.tls_ca_file)
    except (OSError, ssl.SSLError) as error:
        raise OptionError(f"option tlsCaFile: {options.tls_ca_file} cannot be read ({reason(error)})") from None
    if not options.tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
