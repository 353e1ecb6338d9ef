"""A case: one behaviour that clients can see, as a function that provokes it and notes what it sees.

    @remoting_case("TopicValidator.validateTopic")
    def a_blank_topic_is_refused(t: Remoting) -> None:
        \"\"\"A send that names no topic is refused as an invalid parameter.\"\"\"
        t.see("sent", t.send(""), 29)

A case knows nothing of the target. The functions of `cases/` are found by themselves; a case is called by its module
and its function: `send.a_blank_topic_is_refused`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType
from typing import Any, TypeVar

from .targets.target import Capability

_MARK = "__rocketmq_case__"


class Protocol(StrEnum):
    """The protocol that a case or an SDK speaks."""

    REMOTING = "remoting"
    GRPC = "grpc"


class CaseError(Exception):
    """A case is not written as cases are; the text says what to change."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a decorator says of a case. `source`: class and method of upstream that the behaviour comes from.

    `needs`: what the target must be able to do. `settings`: keys of broker.conf that the case needs. `alone`: it
    changes what all share (a configuration, a system topic), so it gets a broker of its own.
    """

    protocol: Protocol
    source: str
    needs: frozenset[Capability]
    settings: Mapping[str, str]
    alone: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `noun` is its module in `cases/`, `sentence` its behaviour."""

    noun: str
    name: str
    sentence: str
    mark: Mark
    run: Callable[[Any], None]

    @property
    def id(self) -> str:
        """`noun.name`."""
        return f"{self.noun}.{self.name}"

    @property
    def needs(self) -> frozenset[Capability]:
        """All that the target must be able to do."""
        start = {Capability.CONFIGURE} if self.mark.settings or self.mark.alone else set()
        return self.mark.needs | start


F = TypeVar("F", bound=Callable[..., None])


def remoting_case(
    source: str,
    *,
    needs: frozenset[Capability] | set[Capability] = frozenset({Capability.ADMIN}),
    settings: Mapping[str, str] | None = None,
    alone: bool = False,
) -> Callable[[F], F]:
    """Mark a function of a `Remoting` world as a case; see `Mark`."""
    return _marked(Mark(Protocol.REMOTING, source, frozenset(needs), dict(settings or {}), alone))


def grpc_case(
    source: str,
    *,
    needs: frozenset[Capability] | set[Capability] = frozenset({Capability.ADMIN}),
    settings: Mapping[str, str] | None = None,
    alone: bool = False,
) -> Callable[[F], F]:
    """Mark a function of a `Grpc` world as a case; see `Mark`."""
    return _marked(Mark(Protocol.GRPC, source, frozenset(needs), dict(settings or {}), alone))


def _marked(mark: Mark) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        setattr(function, _MARK, mark)
        return function

    return decorate


def all_cases() -> tuple[Case, ...]:
    """Every case of `cases/`, by module and then as written. Errors: CaseError."""
    from . import cases

    found: list[Case] = []
    for module in sorted(pkgutil.iter_modules(cases.__path__), key=lambda each: each.name):
        found += cases_of(importlib.import_module(f"{cases.__name__}.{module.name}"))
    return tuple(found)


def cases_of(module: ModuleType) -> list[Case]:
    """The cases of one module in the order of their lines. Errors: CaseError."""
    noun = module.__name__.rpartition(".")[2]
    marked = [each for each in vars(module).values() if inspect.isfunction(each) and hasattr(each, _MARK)]
    found = []
    for function in marked:
        if function.__module__ != module.__name__:
            continue
        sentence = " ".join((function.__doc__ or "").split())
        mark: Mark = getattr(function, _MARK)
        if not sentence.endswith("."):
            raise CaseError(f"{noun}.{function.__name__} has no sentence: its docstring says the behaviour")
        if not mark.source:
            raise CaseError(f"{noun}.{function.__name__} has no source: name the class and method of upstream")
        found.append(Case(noun, function.__name__, sentence, mark, function))
    return found
