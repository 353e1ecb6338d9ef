"""Scripts of listeners and of transaction checks, from the commands `push` and `producer` (see PROTOCOL.md)."""

import base64
import threading
import time
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from .command import Command, bad

Fields = dict[str, Any]
Did = Literal["success", "fail", "throw"]
"""The outcome of a listener. No SDK with this script supports `suspend`."""

TRANSACTION_OUTCOMES = ("COMMIT", "ROLLBACK", "UNKNOWN")
"""The decisions of a producer about a transaction."""

_OTHERS = "*"


def _number_for(body: str, table: dict[str, int]) -> int:
    return table.get(body, table.get(_OTHERS, 0))


@dataclass(slots=True)
class Script:
    """The behavior of a push consumer's listener. `fail` to `begin` are fields of its command `push`."""

    fail: dict[str, int]
    throw: dict[str, int]
    hang_ms: dict[str, int]
    quiet: bool
    _: KW_ONLY
    begin: bool
    calls: int = 0
    _seen: dict[tuple[str, str], int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, command: Command) -> "Script":
        """Create the script from a push command."""
        fail, throw, hang_ms = (command.counts(name) for name in ("fail", "throw", "hang_ms"))
        return cls(fail, throw, hang_ms, command.flag("quiet"), begin=command.flag("begin"))

    @property
    def needs_fields(self) -> bool:
        """True if `act` or an event needs the fields of the messages."""
        return bool(self.fail or self.throw) or self.begin or not self.quiet

    def act(self, message: Fields, body: bytes) -> Did:
        """Hang as long as the script says and return the outcome.

        The attempt number is the higher one of the SDK's and this listener's own count. Some SDKs never raise the
        number in local retries, and another consumer of the group may have had the earlier attempts.
        """
        text = body.decode(errors="replace")
        hang_ms = _number_for(text, self.hang_ms)
        if hang_ms:
            time.sleep(hang_ms / 1000)
        with self._lock:
            self.calls += 1
            if not self.fail and not self.throw:
                return "success"
            key = (str(message["id"]), text)
            self._seen[key] = counted = self._seen.get(key, 0) + 1
        attempt = max(counted, message["attempt"] or 1)
        if attempt <= _number_for(text, self.throw):
            return "throw"
        return "fail" if attempt <= _number_for(text, self.fail) else "success"


class Answers:
    """Answers of a producer to transaction checks, from the field ``check``: a word, a list, or a map of those."""

    def __init__(self, check: Any) -> None:
        self._by_body = {
            body: _listed(one) for body, one in (check if isinstance(check, dict) else {_OTHERS: check}).items()
        }
        self._asked: dict[str, int] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, command: Command) -> "Answers | None":
        """Return a producer command's answers; None if it has no check. Raises Refusal for another word."""
        return cls(command.fields["check"]) if command.has("check") else None

    def next(self, body: str) -> tuple[str, int]:
        """Return the answer to the next check of the message with this body (base64), and the number of that check."""
        with self._lock:
            self._asked[body] = n = self._asked.get(body, 0) + 1
        text = base64.b64decode(body).decode(errors="replace")
        answers = self._by_body.get(text) or self._by_body.get(_OTHERS) or ["UNKNOWN"]
        return answers[min(n, len(answers)) - 1], n


def _listed(answers: Any) -> list[str]:
    words = answers if isinstance(answers, list) else [answers]
    if not words or not all(isinstance(word, str) and word in TRANSACTION_OUTCOMES for word in words):
        raise bad(f"check is none of {', '.join(TRANSACTION_OUTCOMES)}, nor a list or a map of them")
    return words
