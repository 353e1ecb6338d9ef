"""A case: one behavior that clients can see, as a function that provokes it and notes its observations.

    @remoting_case("TopicValidator.validateTopic")
    def a_blank_topic_is_refused(t: RemotingContext) -> None:
        \"\"\"A send that names no topic is refused as an invalid parameter.\"\"\"
        t.note("sent", t.send(""), 29)

A case does not know its target. The functions of `cases/` are discovered automatically. The id of a case consists of
its module and its function: `send.a_blank_topic_is_refused`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from types import ModuleType
from typing import Any, TypeVar

from .deployment.target import SECOND_BROKER, Capability, Target

_MARK = "__rocketmq_case__"


class Protocol(StrEnum):
    """The protocol that a case or an SDK speaks."""

    REMOTING = "remoting"
    GRPC = "grpc"


class CaseError(Exception):
    """A case is not written correctly; the text says what to change."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Arguments of a case decorator. `source`: upstream class and method that the behavior comes from.

    `needs`: capabilities that the target must have. `settings`: keys of broker.conf that the case needs. Keys that
    begin with `second-broker.` add a second broker, which has these keys and those of the first. Keys that begin with
    `proxy.` belong to rmq-proxy.json. `alone`: the case changes shared state (a configuration, a system topic), so it
    gets a broker of its own. `tidy`: the case leaves no trace that another case could see, and is not affected by
    earlier ones. Tidy cases with equal settings therefore run one after the other on one broker. `fault`: the kind of
    fault that the case causes on the emulator. `real`: further keys of broker.conf, which bring a real broker into the
    same situation.
    """

    protocol: Protocol
    source: str
    needs: frozenset[Capability]
    settings: Mapping[str, str]
    _: KW_ONLY
    alone: bool
    tidy: bool
    fault: str = ""
    real: Mapping[str, str] = field(default_factory=dict)

    @property
    def real_settings(self) -> Mapping[str, str]:
        """The keys of broker.conf of a real broker: `settings` and `real`."""
        return {**self.settings, **self.real}


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `noun` is its module in `cases/`, `sentence` describes its behavior."""

    noun: str
    name: str
    sentence: str
    mark: Mark
    _: KW_ONLY
    run: Callable[[Any], None]

    @property
    def id(self) -> str:
        """The id: `noun.name`."""
        return f"{self.noun}.{self.name}"

    @property
    def needs(self) -> frozenset[Capability]:
        """All capabilities that the target must have."""
        mark = self.mark
        start = {Capability.CONFIGURE} if mark.real_settings or mark.alone or mark.fault else set()
        if any(key.startswith(SECOND_BROKER) for key in mark.real_settings):
            start.add(Capability.SEVERAL_BROKERS)
        return self.mark.needs | start

    def settings_of(self, target: Target) -> Mapping[str, str]:
        """Return the keys of broker.conf on a target; the emulator does without `real`, because it has the fault."""
        return self.mark.settings if target.emulated else self.mark.real_settings


F = TypeVar("F", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class CaseOf:
    """Marks functions as cases of a protocol: `@remoting_case(source, ...)`; see `Mark` for the arguments."""

    protocol: Protocol

    def __call__(
        self,
        source: str,
        *,
        needs: frozenset[Capability] | set[Capability] = frozenset({Capability.ADMIN}),
        settings: Mapping[str, str] | None = None,
        alone: bool = False,
        tidy: bool = False,
        fault: str = "",
        real: Mapping[str, str] | None = None,
    ) -> Callable[[F], F]:
        """Return the decorator for one case."""
        mark = Mark(
            self.protocol,
            source,
            frozenset(needs),
            dict(settings or {}),
            alone=alone or tidy,
            tidy=tidy,
            fault=fault,
            real=dict(real or {}),
        )

        def decorate(function: F) -> F:
            setattr(function, _MARK, mark)
            return function

        return decorate


remoting_case = CaseOf(Protocol.REMOTING)
"""Marks a function that takes a `RemotingContext` as a case."""
grpc_case = CaseOf(Protocol.GRPC)
"""Marks a function that takes a `GrpcContext` as a case."""


Marked = tuple[str, str, Callable[[Any], None], Any]
"""Noun, sentence and function of a case or scenario, and its mark."""


def marked(module: ModuleType, mark: str) -> list[Marked]:
    """Find the functions that a module itself has marked with `mark`, in source order.

    Raises CaseError if one has no sentence in its docstring, or no source.
    """
    noun = module.__name__.rpartition(".")[2]
    found: list[Marked] = []
    for function in vars(module).values():
        if not inspect.isfunction(function) or not hasattr(function, mark) or function.__module__ != module.__name__:
            continue
        sentence = " ".join((function.__doc__ or "").split())
        if not sentence.endswith("."):
            raise CaseError(f"{noun}.{function.__name__} has no sentence; state the behavior in its docstring")
        if not getattr(function, mark).source:
            raise CaseError(f"{noun}.{function.__name__} has no source; name the class and method of upstream")
        found.append((noun, sentence, function, getattr(function, mark)))
    return found


def cases_of(module: ModuleType) -> list[Case]:
    """The cases of one module in source order. Raises CaseError if one has no sentence or no source."""
    return [Case(noun, run.__name__, sentence, mark, run=run) for noun, sentence, run, mark in marked(module, _MARK)]
