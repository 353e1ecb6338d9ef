"""A mutant: one small change of one file."""

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """`new` replaces the bytes from `begin` to `end`, which are in line `line` (from 1) and now are `old`.

    `scope` is the qualified name of the function or class around it, empty at the level of the module; `function` that
    of the outermost function, empty for what the import executes. `number` counts those that are alike in a scope.
    """

    file: str
    line: int
    begin: int
    end: int
    operator: str
    old: str
    new: str
    scope: str
    function: str
    number: int = 0

    @property
    def key(self) -> str:
        """Name it without line numbers, so that changes elsewhere in the file do not matter."""
        text = "\0".join((self.file, self.scope, self.operator, self.old, self.new))
        if self.number:
            text += f"\0{self.number}"
        return sha256(text.encode()).hexdigest()[:12]

    def applied(self, source: bytes) -> bytes:
        """The file with the change."""
        return source[: self.begin] + self.new.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.key} {self.file}:{self.line} [{self.operator}] {_short(self.old)} -> {_short(self.new)}"


def _short(text: str) -> str:
    """At most 100 characters on one line."""
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:97]}..."
