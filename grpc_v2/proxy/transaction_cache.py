"""Half messages that EndTransaction can still end: kept for a limited time after each send and each check.

A transaction id can have several entries: one for the send and one for each check. EndTransaction consumes the newest.
Source: AbstractTransactionService, TransactionDataManager (5.3.3).
"""

from typing import NamedTuple

from ..config.proxy_config import ProxyConfig

_SWEEP_ABOVE = 1024


class TransactionData(NamedTuple):
    """The position of a half message."""

    broker_name: str
    tran_state_table_offset: int
    commit_log_offset: int


class TransactionCache:
    """Entries by (producer group, transaction id). The producer group is the topic's name."""

    def __init__(self, config: ProxyConfig) -> None:
        self._config = config
        # Half messages with the last ms of their times (since the epoch), as TransactionDataManager compares them.
        self._open: dict[tuple[str, str], list[tuple[TransactionData, int]]] = {}
        self._sweep_above = _SWEEP_ABOVE
        """The number of keys above which expired ones are removed: at least twice the number after the last sweep."""

    def add(self, group: str, transaction_id: str, half: TransactionData, now_ms: int) -> None:
        """Allow one more EndTransaction, for transactionDataExpireMillis."""
        expires_ms = now_ms + self._config.transaction_data_expire_millis
        held = self._open.setdefault((group, transaction_id), [])
        held.append((half, expires_ms))
        del held[: -self._config.transaction_data_max_num]
        if len(self._open) > self._sweep_above:
            self._sweep(now_ms)

    def pop_newest(self, group: str, transaction_id: str, now_ms: int) -> TransactionData | None:
        """Remove the newest entry and return it. None if there is none or it has expired."""
        held = self._open.get((group, transaction_id))
        if not held:
            return None
        half, expires_ms = held.pop()
        is_expired = expires_ms < now_ms
        if is_expired or not held:  # older entries have expired as well
            del self._open[group, transaction_id]
        return None if is_expired else half

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def _sweep(self, now_ms: int) -> None:
        """Remove expired entries.

        Checks add entries for old keys, so that the keys are in no order of expiry, and each sweep reads all of them.
        """
        for key, held in list(self._open.items()):
            held[:] = [entry for entry in held if entry[1] >= now_ms]
            if not held:
                del self._open[key]
        self._sweep_above = max(_SWEEP_ABOVE, 2 * len(self._open))
