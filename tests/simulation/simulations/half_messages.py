"""Producers of transactions: send half messages, receive checks, and end transactions, correctly or not."""

from typing import TYPE_CHECKING, NamedTuple

import observations as obs
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState, Effect
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import Record, decode
from rocketmq_testkit.emulator.operations.base import NoResponse
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendMessage, SendResult
from simulated_client import Client

if TYPE_CHECKING:
    from session import Session

GROUP = "producers"
DECISIONS = {"commit": 8, "rollback": 12, "unknown": 0}
"""Values of `commit_or_rollback` (MessageSysFlag 5.3.3)."""
REMEMBERED = 30
"""The most transactions that the producers remember; no producer ends the older ones."""


class OpenTransaction(NamedTuple):
    """Data with which a producer ends a transaction; `from_check` is True if they come from a check."""

    message_id: str
    half_offset: int
    physical_offset: int
    from_check: bool


def half_stored(now: int, offset: int, message: Record) -> obs.HalfStored:
    """Return the observation of a message in the half topic."""
    properties = message.property_map()
    return obs.HalfStored(
        now,
        offset,
        properties["REAL_TOPIC"],
        message.body.decode(),
        message.born_timestamp,
        int(properties.get("TRANSACTION_CHECK_TIMES", "0")),
        properties.get("CHECK_IMMUNITY_TIME_IN_SECONDS"),
        message.physical_offset,
    )


class HalfMessages:
    """The transactions of one session's clients, all of one producer group; any client may end any of them."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.open: list[OpenTransaction] = []

    def _remember(self, known: OpenTransaction) -> None:
        self.open = [*self.open[1 - REMEMBERED :], known]

    def prepare(
        self,
        client: Client,
        topic: str,
        queue_id: int,
        message_id: str,
        *,
        tag: str | None,
        immunity: str | None,
        forget: bool = False,
    ) -> None:
        """Send a half message with an immunity of `immunity` seconds; with `forget` the response is lost."""
        now = self._session.now_ms
        properties = {"UNIQ_KEY": message_id, "TRAN_MSG": "true", "PGROUP": GROUP, "KEYS": f"half {message_id}"}
        if tag is not None:
            properties["TAGS"] = tag
        if immunity is not None:
            properties["CHECK_IMMUNITY_TIME_IN_SECONDS"] = immunity

        def on_answer(outcome: Outcome, waited: bool) -> None:
            assert isinstance(outcome, SendResult), outcome
            if not forget:
                self._remember(OpenTransaction(message_id, outcome.queue_offset, outcome.physical_offset, False))
            self._session.note(obs.Prepared(now, topic, message_id, outcome.queue_offset))

        self._session.ask(
            client,
            SendMessage(GROUP, topic, queue_id, message_id.encode(), properties, ("10.0.0.1", 5000), now),
            on_answer,
        )

    def pushed(self, client: Client, effect: Effect) -> None:
        """Handle a push to a client: remember the transaction if it is a check."""
        if not isinstance(effect, CheckTransactionState):
            return
        message = decode(effect.record)
        message_id = message.body.decode()
        times = int(message.property_map()["TRANSACTION_CHECK_TIMES"])
        known = OpenTransaction(message_id, effect.tran_state_table_offset, effect.commit_log_offset, True)
        self._remember(known)
        self._session.note(
            obs.Checked(
                self._session.now_ms,
                client.channel.channel_id,
                message.topic,
                message_id,
                effect.tran_state_table_offset,
                times,
            )
        )

    def end(self, client: Client, known: OpenTransaction, decision: str, wrong: str = "") -> None:
        """End a transaction; `wrong` is "group" or "offset" to send a wrong one."""
        group = "others" if wrong == "group" else GROUP
        offset = known.half_offset + (wrong == "offset")

        def on_answer(outcome: Outcome, waited: bool) -> None:
            if isinstance(outcome, EngineError):
                code = outcome.code.name
            else:
                code = "NO_ANSWER" if isinstance(outcome, NoResponse) else "SUCCESS"
            self._session.note(
                obs.Ended(
                    self._session.now_ms,
                    known.message_id,
                    known.half_offset,
                    decision,
                    not wrong,
                    known.from_check,
                    code,
                )
            )

        self._session.ask(
            client,
            EndTransaction(
                group,
                offset,
                known.physical_offset,
                DECISIONS[decision],
                known.from_check,
                known.message_id,
                known.message_id,
            ),
            on_answer,
        )
