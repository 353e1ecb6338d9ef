"""A list of actions that fails is cut down to one that is as short as can be, and as plain."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from simulation import Action

AnySetup = TypeVar("AnySetup")


def _kind(text: str) -> list[str]:
    """The first words that do not depend on names and numbers."""
    return [word for word in text.split()[:5] if word.isalpha() or word.endswith(":")]


def shortest(
    setup: AnySetup, actions: "list[Action]", judge: Callable[[AnySetup, "list[Action]"], str]
) -> "list[Action]":
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
