"""A remoting request in flight."""

from rocketmq_testkit.remoting.client import RemotingClient, RemotingTimeout

from .remoting_response import DecodedResponse

ANSWER_SECONDS = 30.0
"""Timeout for a response."""
_PEEK_SECONDS = 0.005


class Pending:
    """A request in flight. Calling it waits for the response."""

    def __init__(self, connection: RemotingClient, opaque: int) -> None:
        self._connection = connection
        self._opaque = opaque
        self._answer: DecodedResponse | None = None

    def __call__(self, seconds: float = ANSWER_SECONDS) -> DecodedResponse:
        return self._collect(seconds)

    def arrived(self) -> DecodedResponse | None:
        """Return the response if it has arrived. Cases poll it with `until`, to measure the time of arrival."""
        try:
            return self._collect(_PEEK_SECONDS)
        except RemotingTimeout:
            return None

    def _collect(self, seconds: float) -> DecodedResponse:
        if self._answer is None:
            self._answer = DecodedResponse.of(self._connection.collect(self._opaque, seconds))
        return self._answer
