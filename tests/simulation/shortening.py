"""A seed that fails: what goes wrong, and a list of actions that is as short as can be, and as plain."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from simulation import Action

AnySetup = TypeVar("AnySetup")


Judge = Callable[[AnySetup, "list[Action]"], str]
"""What goes wrong with a setup and actions, "" for nothing."""


def failure_of(run: Callable[[], object]) -> str:
    """What goes wrong, "" for nothing."""
    try:
        run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def report_of(seed: int, program: str, setup: AnySetup, actions: "list[Action]", judge: "Judge[AnySetup]") -> str:
    """How to see a failing seed again by a test program, and the shortest way to it; "" if it does not fail."""
    if not judge(setup, actions):
        return ""
    steps = shortest(setup, actions, judge)
    lines = [
        f"seed {seed} fails: SEED={seed} pytest tests/simulation/{program}",
        f"{setup}, {len(steps)} of {len(actions)} actions are enough:",
        *(f"    {action}," for action in steps),
        judge(setup, steps),
    ]
    return "\n".join(lines)


def show(
    words: Sequence[str], plan: "Callable[[int], tuple[AnySetup, list[Action]]]", report: Callable[[int], str]
) -> int:
    """Run the seed that the words name and show it; returns an exit code."""
    seed = int(words[0])
    if found := report(seed):
        print(found)
        return 1
    setup, actions = plan(seed)
    print(setup, *actions, sep="\n")
    return 0


def _kind(text: str) -> list[str]:
    """The first words that do not depend on names and numbers."""
    return [word for word in text.split()[:5] if word.isalpha() or word.endswith(":")]


def shortest(setup: AnySetup, actions: "list[Action]", judge: "Judge[AnySetup]") -> "list[Action]":
    """A list that fails as the given one does (by the kind of its failure) and has no action too many."""
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
