"""The warm-up of Java processes: unmeasured rounds of the work until their JIT compilers have almost nothing to do.

The compilers take more than the work itself at first: of the 28 µs of processor time that a push consumer took for a
message after 60,000 others, 18 µs were theirs, and after 600,000 less than 1 µs.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from servers import Processes, cpu_seconds

COMPILERS = ("C1 CompilerThre", "C2 CompilerThre")
"""Names of the JVM's compiler threads. The kernel keeps 15 characters of them."""
SHARE_MAX = 0.05
"""Part of the processor time of a round that the compilers may take in the last round of a warm-up."""
ROUNDS_MIN = 3


@dataclass(frozen=True)
class WarmUp:
    """Rounds of `messages` messages, at most `rounds_max` of them.

    A process that still compiles after the last round is measured all the same.
    """

    messages: int = 20_000
    rounds_max: int = 12

    def times(self, factor: float) -> "WarmUp":
        """Return a warm-up whose rounds have `factor` times the messages."""
        return replace(self, messages=int(self.messages * factor))

    def run(self, client: Processes, work: Callable[[], object]) -> int:
        """Repeat `work`, one round, until the client's compilers take at most SHARE_MAX of one; return the rounds."""
        for done in range(1, self.rounds_max + 1):
            begun, compiled = cpu_seconds(client), _compiler_ticks(client)
            work()
            used = cpu_seconds(client) - begun
            if done >= ROUNDS_MIN and _growth(compiled, _compiler_ticks(client)) <= SHARE_MAX * used:
                return done
        return self.rounds_max


FULL = WarmUp()
QUICK = WarmUp(messages=2_000, rounds_max=ROUNDS_MIN)


def _compiler_ticks(processes: Processes) -> dict[int, int]:
    """Return the processor time of each compiler thread by its id, in clock ticks (`SC_CLK_TCK` of them a second)."""
    found = {}
    for process in processes.pids:
        for thread in Path(f"/proc/{process}/task").iterdir():
            try:
                head, _, rest = (thread / "stat").read_text().rpartition(")")  # `ID (NAME) FIELD ...`
            except (FileNotFoundError, ProcessLookupError):
                continue  # the thread has ended meanwhile
            if head.partition("(")[2] in COMPILERS:
                user, system = rest.split()[11:13]
                found[int(thread.name)] = int(user) + int(system)
    return found


def _growth(before: Mapping[int, int], after: Mapping[int, int]) -> float:
    """Return the seconds that the threads of `after` took since `before`. The JVM ends threads that have no work."""
    ticks = sum(now - before.get(thread, 0) for thread, now in after.items())
    return ticks / os.sysconf("SC_CLK_TCK")
