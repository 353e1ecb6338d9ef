"""Half messages that can still be decided: kept for a while after each send and each check.

A transaction id can hold several answers open, the send's and one for each check; EndTransaction uses up the newest.
Source: AbstractTransactionService, TransactionDataManager (5.3.3).
"""

from dataclasses import dataclass

from ..config.proxy_config import ProxyConfig

_SWEEP_ABOVE = 1024


@dataclass(frozen=True, slots=True)
class TransactionData:
    """Where a half message is."""

    broker_name: str
    tran_state_table_offset: int
    commit_log_offset: int
    expires_ms: int


class Transactions:
    """By (producer group, transaction id); the producer group is the topic."""

    def __init__(self, config: ProxyConfig) -> None:
        self._config = config
        self._open: dict[tuple[str, str], list[TransactionData]] = {}

    def add(
        self,
        group: str,
        transaction_id: str,
        broker_name: str,
        tran_state_table_offset: int,
        commit_log_offset: int,
        now_ms: int,
    ) -> None:
        """Let one more EndTransaction be answered, for transactionDataExpireMillis."""
        expires_ms = now_ms + self._config.transaction_data_expire_millis
        held = self._open.setdefault((group, transaction_id), [])
        held.append(TransactionData(broker_name, tran_state_table_offset, commit_log_offset, expires_ms))
        del held[: -self._config.transaction_data_max_num]
        if len(self._open) > _SWEEP_ABOVE:
            self._sweep(now_ms)

    def take(self, group: str, transaction_id: str, now_ms: int) -> TransactionData | None:
        """The newest that has not expired, used up by this; None when there is none."""
        held = self._open.get((group, transaction_id))
        if not held:
            return None
        newest = held.pop()
        if not held:
            del self._open[group, transaction_id]
        return newest if newest.expires_ms > now_ms else None

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def _sweep(self, now_ms: int) -> None:
        """Forget what expired. Entries are made in the order in which they expire, so the old ones come first."""
        for key, held in list(self._open.items()):
            if held[-1].expires_ms > now_ms:
                break
            del self._open[key]
