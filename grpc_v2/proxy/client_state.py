"""Everything that the proxy holds for its clients, which ends by expiry of one client or by a discard of all."""

from .auto_renewal import Renewals
from .delayed_calls import DelayedCalls
from .receive_polls import ReceivePolls
from .session_end import SessionEnd
from .sessions import SessionRegistry
from .telemetry_requests import PendingRequests


class ClientState:
    """The sessions of clients, their receives, renewals, pending requests and delayed responses."""

    def __init__(
        self,
        *,
        sessions: SessionRegistry,
        session_end: SessionEnd,
        polls: ReceivePolls,
        renewals: Renewals,
        pending_requests: PendingRequests,
        delayed_calls: DelayedCalls,
    ) -> None:
        self.sessions = sessions
        self.polls = polls
        self.renewals = renewals
        self._session_end = session_end
        self._pending_requests = pending_requests
        self._delayed_calls = delayed_calls

    def expire(self, client_id: str) -> None:
        """End the session of a client and its receives, as if it had sent nothing for too long."""
        session = self.sessions.end(client_id)
        if session is not None:
            self.polls.end(session)  # the polls of a silent client would have ended long before
            self._session_end.expired(session)

    def discard(self) -> None:
        """Discard all clients and their pending calls, without responses and without making messages visible."""
        for session in self.sessions:
            self.renewals.drop_session(session)
        self.sessions.close()
        self._pending_requests.discard_all()
        self.polls.discard_all()
        self._delayed_calls.cancel_all()
