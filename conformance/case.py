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

from .targets.target import BESIDE, Capability

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

    `needs`: what the target must be able to do. `settings`: keys of broker.conf that the case needs; with
    keys that begin with `beside.` there is a second broker, which has them besides those of the first; those that begin
    with `proxy.` are of rmq-proxy.json. `alone`: it
    changes what all share (a configuration, a system topic), so it gets a broker of its own. `tidy`: one that it shares
    with others after all, one after the other, for it leaves nothing that they could see and minds nothing of theirs.
    """

    protocol: Protocol
    source: str
    needs: frozenset[Capability]
    settings: Mapping[str, str]
    alone: bool
    tidy: bool


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
        if any(key.startswith(BESIDE) for key in self.mark.settings):
            start.add(Capability.SEVERAL_BROKERS)
        return self.mark.needs | start


F = TypeVar("F", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class CaseOf:
    """Marks functions as cases of a protocol: `@remoting_case(source, ...)`; for the arguments see `Mark`."""

    protocol: Protocol

    def __call__(
        self,
        source: str,
        *,
        needs: frozenset[Capability] | set[Capability] = frozenset({Capability.ADMIN}),
        settings: Mapping[str, str] | None = None,
        alone: bool = False,
        tidy: bool = False,
    ) -> Callable[[F], F]:
        """The decorator of one case."""
        mark = Mark(self.protocol, source, frozenset(needs), dict(settings or {}), alone or tidy, tidy)

        def decorate(function: F) -> F:
            setattr(function, _MARK, mark)
            return function

        return decorate


remoting_case = CaseOf(Protocol.REMOTING)
"""Marks a function of a `Remoting` world."""
grpc_case = CaseOf(Protocol.GRPC)
"""Marks a function of a `Grpc` world."""


def modules_of(package: ModuleType) -> list[ModuleType]:
    """The modules of a package, by their names."""
    names = sorted(each.name for each in pkgutil.iter_modules(package.__path__))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


Marked = tuple[str, str, Callable[[Any], None], Any]
"""Noun, sentence and function of a case or scenario, and its mark."""


def marked(module: ModuleType, mark: str) -> list[Marked]:
    """What a module itself has marked so, as written. Errors: CaseError."""
    noun = module.__name__.rpartition(".")[2]
    found: list[Marked] = []
    for function in vars(module).values():
        if not inspect.isfunction(function) or not hasattr(function, mark) or function.__module__ != module.__name__:
            continue
        sentence = " ".join((function.__doc__ or "").split())
        if not sentence.endswith("."):
            raise CaseError(f"{noun}.{function.__name__} has no sentence: its docstring says the behaviour")
        if not getattr(function, mark).source:
            raise CaseError(f"{noun}.{function.__name__} has no source: name the class and method of upstream")
        found.append((noun, sentence, function, getattr(function, mark)))
    return found


def all_cases() -> tuple[Case, ...]:
    """Every case of `cases/`, by module and then as written. Errors: CaseError."""
    from . import cases

    return tuple(case for module in modules_of(cases) for case in cases_of(module))


def cases_of(module: ModuleType) -> list[Case]:
    """The cases of one module in the order of their lines. Errors: CaseError."""
    return [Case(noun, run.__name__, sentence, mark, run) for noun, sentence, run, mark in marked(module, _MARK)]
