"""Connections to name servers and brokers: made when they are needed, kept for the life of a task or a planner."""

import ssl
import time
from collections.abc import Callable
from typing import TypeVar

from rocketmq_testkit.remoting.client import Credentials, RemotingClient
from rocketmq_testkit.remoting.client.closing import Closing

from .errors import ClusterError, OptionError
from .options import ConnectionOptions

T = TypeVar("T")

LOST = (OSError, ssl.SSLError)
"""What a connection may raise that is away, cut or silent; time-outs of the client are OSErrors too."""


class Connections(Closing):
    """Clients by address. Nothing of it is ever pickled: each task makes its own."""

    def __init__(self, options: ConnectionOptions) -> None:
        self.options = options
        self._clients: dict[str, RemotingClient] = {}
        self._tls = _tls(options)
        self._credentials = None
        if options.access_key is not None and options.secret_key is not None:
            self._credentials = Credentials(options.access_key, options.secret_key, options.security_token)

    def to(self, address: str) -> RemotingClient:
        """The connection to an address. Errors: OSError; ClusterError for a certificate that is not trusted."""
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
                # Nothing that waiting would help.
                raise ClusterError(
                    f"the certificate of {address} is not trusted: {error.verify_message}; option tlsCaFile names "
                    "certificates to trust, tlsVerify=false trusts all"
                ) from error
            except ssl.SSLError as error:
                raise ConnectionError(f"{reason(error)}; does it serve TLS, as option tls=true says?") from error
        return client

    def drop(self, address: str) -> None:
        """Close a connection that failed; the next use makes another."""
        client = self._clients.pop(address, None)
        if client is not None:
            client.close()

    def close(self) -> None:
        """Close all."""
        for address in list(self._clients):
            self.drop(address)

    def patiently(self, what: str, attempt: Callable[[], T]) -> T:
        """The result of something that may need to be tried again while a server is away.

        Errors: ClusterError with `what` and the last reason.
        """
        tries = self.options.retries + 1
        for left in reversed(range(tries)):
            try:
                return attempt()
            except (TemporaryError, *LOST) as error:
                if not left:
                    raise ClusterError(f"{what}: {reason(error)}, {tries} times") from error
                time.sleep(self.options.retry_interval_ms / 1000)
        raise AssertionError("a range of at least one was empty")


class TemporaryError(Exception):
    """A server is busy or not ready; asking again may help."""


def reason(error: BaseException) -> str:
    """What an error says, or its kind if it says nothing."""
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
