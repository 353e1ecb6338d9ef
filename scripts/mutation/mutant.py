"""A mutant: one small change of one file."""

from dataclasses import KW_ONLY, dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """A change that replaces the bytes `old` from `begin` to `end`, in line `line` (from 1), by `new`.

    `scope` is the qualified name of the surrounding function or class, empty at the level of the module. `function` is
    that of the outermost function, empty for code that the import executes. `number` distinguishes equal changes in a
    scope.
    """

    file: str
    line: int
    begin: int
    end: int
    _: KW_ONLY
    operator: str
    old: str
    new: str
    scope: str
    function: str
    number: int = 0

    @property
    def key(self) -> str:
        """An id without line numbers, so that changes elsewhere in the file do not affect it."""
        text = "\0".join((self.file, self.scope, self.operator, self.old, self.new))
        if self.number:
            text += f"\0{self.number}"
        return sha256(text.encode()).hexdigest()[:12]

    def applied(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.begin] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.key} {self.file}:{self.line} [{self.operator}] {_short(self.old)} -> {_short(self.new)}"


def _short(text: str) -> str:
    """Shorten a text to at most 100 characters on one line."""
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:97]}..."
