"""Reports of failing seeds: the error, and the shortest and simplest list of actions that still fails."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from simulation import Action

AnySetup = TypeVar("AnySetup")


Judge = Callable[[AnySetup, "list[Action]"], str]
"""Runs a set-up and actions; returns the error, "" if there is none."""


def failure_of(run: Callable[[], object]) -> str:
    """Call `run`; return its exception as text, "" if there is none."""
    try:
        run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def report_of(seed: int, program: str, setup: AnySetup, actions: "list[Action]", *, judge: "Judge[AnySetup]") -> str:
    """Return the command that repeats a failing seed, and its shortest failing actions; "" if it does not fail."""
    if not judge(setup, actions):
        return ""
    steps = shortest(setup, actions, judge)
    lines = [
        f"seed {seed} fails: SEED={seed} pytest tests/simulation/tests/{program}",
        f"{setup}, {len(steps)} of {len(actions)} actions are enough:",
        *(f"    {action}," for action in steps),
        judge(setup, steps),
    ]
    return "\n".join(lines)


def show(
    words: Sequence[str], plan: "Callable[[int], tuple[AnySetup, list[Action]]]", report: Callable[[int], str]
) -> int:
    """Run the seed named on the command line, and print its actions or its report; return the exit code."""
    seed = int(words[0])
    if found := report(seed):
        print(found)
        return 1
    setup, actions = plan(seed)
    print(setup, *actions, sep="\n")
    return 0


def _kind(text: str) -> list[str]:
    """Return the first words of an error, which name its kind, without names and numbers."""
    return [word for word in text.split()[:5] if word.isalpha() or word.endswith(":")]


def shortest(setup: AnySetup, actions: "list[Action]", judge: "Judge[AnySetup]") -> "list[Action]":
    """Return a minimal list of actions that fails with the same kind of error."""
    kind = _kind(judge(setup, actions))

    def fails(some: "list[Action]") -> bool:
        return _kind(judge(setup, some)) == kind

    before = len(actions) + 1
    while len(actions) < before:
        before = len(actions)
        actions = _simplified(_without_needless(actions, fails), fails)
    return actions


def _without_needless(actions: "list[Action]", fails: Callable[["list[Action]"], bool]) -> "list[Action]":
    size = len(actions) // 2
    while size:
        start = 0
        while start < len(actions):
            shorter = actions[:start] + actions[start + size :]
            if fails(shorter):
                actions = shorter
            else:
                start += size
        size //= 2
    return actions


def _simplified(actions: "list[Action]", fails: Callable[["list[Action]"], bool]) -> "list[Action]":
    for index in range(len(actions)):
        for name in ("fate", "client", "a", "b", "c", "d"):
            zero: Any = {name: "" if name == "fate" else 0}
            simpler = [*actions[:index], actions[index]._replace(**zero), *actions[index + 1 :]]
            if actions[index] != simpler[index] and fails(simpler):
                actions = simpler
    return actions
