"""The end of a session: its effects on receives, on messages received with auto_renew, and on brokers."""

from rocketmq_testkit.emulator.faults.defects import Defects
from rocketmq_testkit.emulator.operations.clients import ChannelClosed

from ..config.proxy_config import ProxyConfig
from .auto_renewal import Renewals
from .fire_and_forget import FireAndForget
from .receive_polls import ReceivePolls
from .sessions import Session

_EXPIRED = "session expired"
"""The name of the follow-ups of an expired session in the journal."""


class SessionEnd:
    """Carries out what follows the end of a session. It removes no session itself."""

    def __init__(
        self,
        *,
        config: ProxyConfig,
        renewals: Renewals,
        polls: ReceivePolls,
        fire_and_forget: FireAndForget,
        defects: Defects,
    ) -> None:
        self._config = config
        self._defects = defects
        self._renewals = renewals
        self._polls = polls
        self._fire_and_forget = fire_and_forget

    def terminated(self, session: Session, label: str) -> None:
        """Follow up on a client that left the group of its request: remove it from its other groups as well.

        `label` is the name of the follow-ups in the journal. If `termination_leaves_one_group` is on, its other groups
        keep it, as in ClientActivity.notifyClientTermination.
        """
        self._clean_up(session, label, leave=not self._defects.termination_leaves_one_group)

    def _clean_up(self, session: Session, label: str, *, leave: bool) -> None:
        """Make a client's auto_renew messages visible, and end its polls if configured.

        `leave`: remove it from its groups as well.
        """
        channel = session.channel
        self._renewals.make_visible(session, label)
        if self._config.end_polls_on_client_termination:
            self._polls.end(session)
        if leave:
            self._fire_and_forget.submit_to_masters(channel, label, ChannelClosed())

    def expired(self, session: Session) -> None:
        """Follow up on the session of a client that was silent for too long."""
        self._clean_up(session, _EXPIRED, leave=True)
