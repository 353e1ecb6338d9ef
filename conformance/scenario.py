"""A scenario: what people do with an SDK, as a function that does it with any SDK and notes what comes.

    @scenario("PullMessageProcessor.processRequest", verbs={"push"}, modes={"concurrent"})
    def a_concurrent_consumer_gets_each_message_once(s: Stage) -> None:
        \"\"\"A concurrent push consumer gets everything that is sent, whole, and each message once.\"\"\"
        ...

A scenario knows neither the target nor the language of the SDK; it says which verbs of the driver protocol it needs.
The functions of `scenarios/` are found by themselves; a scenario is called by its module and its function, and its
outcome with an SDK `plain.a_concurrent_consumer_gets_each_message_once@java-grpc`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from .case import marked, modules_of
from .targets.target import Capability

if TYPE_CHECKING:
    from .stage import Stage

_MARK = "__rocketmq_scenario__"
TRUTH_FOLDER = "scenarios"
"""Where recorded scenarios lie, beside the files of the cases."""


@dataclass(frozen=True, slots=True)
class ScenarioMark:
    """What the decorator says of a scenario. `source`: class and method of upstream that the behaviour comes from.

    `verbs`, `modes`, `outcomes`, `allocations`, `options`: what the SDK's driver must offer in its hello.
    `protocol`: `remoting` or `grpc` where it is for one of them. `capabilities`: what the target must be able to
    do, besides making topics. `settings`: keys of broker.conf. `alone`: nobody else may use the broker meanwhile.
    `passes`: time passes in it that a place may jump over; such scenarios come last, since clients go by clocks of
    their own. `without`: SDK and why it cannot take part.
    """

    source: str
    verbs: frozenset[str]
    modes: frozenset[str]
    outcomes: frozenset[str]
    allocations: frozenset[str]
    options: frozenset[str]
    protocol: str | None
    capabilities: frozenset[Capability]
    settings: Mapping[str, str]
    alone: bool
    passes: bool
    long: bool
    without: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario. `noun` is its module in `scenarios/`, `sentence` its behaviour."""

    noun: str
    name: str
    sentence: str
    mark: ScenarioMark
    run: Callable[["Stage"], None]

    @property
    def id(self) -> str:
        """`noun.name`."""
        return f"{self.noun}.{self.name}"

    def id_with(self, sdk: str) -> str:
        """The id of its outcome with an SDK: `noun.name@sdk`."""
        return f"{self.id}@{sdk}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All that the target must be able to do."""
        mark = self.mark
        # What may be stopped or killed is lent to one at a time anyway, without a start for that.
        stopped = mark.capabilities & {Capability.RESTART, Capability.CRASH}
        start = {Capability.CONFIGURE} if mark.settings or (mark.alone and not stopped) else set()
        return mark.capabilities | {Capability.ADMIN} | start

    def obstacle(self, sdk: str, hello: Mapping[str, Any]) -> str:
        """Why an SDK whose driver says this hello cannot take part; empty if it can."""
        mark = self.mark
        if sdk in mark.without:
            return mark.without[sdk]
        if mark.protocol is not None and hello["protocol"] != mark.protocol:
            return f"is for SDKs of the {mark.protocol} protocol"
        lacking = [f"verb {each}" for each in sorted(mark.verbs - set(hello["verbs"]))]
        lacking += [f"mode {each}" for each in sorted(mark.modes - set(hello.get("modes", ())))]
        lacking += [f"outcome {each}" for each in sorted(mark.outcomes - set(hello.get("outcomes", ())))]
        lacking += [f"allocation {each}" for each in sorted(mark.allocations - set(hello.get("allocations", ())))]
        lacking += [f"option {each}" for each in sorted(mark.options - set(hello.get("options", ())))]
        return f"the SDK has no {', no '.join(lacking)}" if lacking else ""


F = TypeVar("F", bound=Callable[..., None])


def scenario(
    source: str,
    *,
    verbs: Collection[str] = (),
    modes: Collection[str] = (),
    outcomes: Collection[str] = (),
    allocations: Collection[str] = (),
    options: Collection[str] = (),
    protocol: str | None = None,
    capabilities: Collection[Capability] = (),
    settings: Mapping[str, str] | None = None,
    alone: bool = False,
    passes: bool = False,
    long: bool = False,
    without: Mapping[str, str] | None = None,
) -> Callable[[F], F]:
    """Mark a function of a Stage as a scenario; see `ScenarioMark`. A mode implies the verb `push`."""
    needed = frozenset(verbs) | (frozenset({"push"}) if modes or outcomes or allocations else frozenset())
    mark = ScenarioMark(
        source,
        needed,
        frozenset(modes),
        frozenset(outcomes),
        frozenset(allocations),
        frozenset(options),
        protocol,
        frozenset(capabilities),
        dict(settings or {}),
        alone,
        passes,
        long,
        dict(without or {}),
    )

    def decorate(function: F) -> F:
        setattr(function, _MARK, mark)
        return function

    return decorate


def all_scenarios() -> tuple[Scenario, ...]:
    """Every scenario of `scenarios/`, by module and then as written. Errors: CaseError."""
    from . import scenarios

    return tuple(each for module in modules_of(scenarios) for each in scenarios_of(module))


def scenarios_of(module: ModuleType) -> list[Scenario]:
    """The scenarios of one module in the order of their lines. Errors: CaseError."""
    return [Scenario(noun, run.__name__, sentence, mark, run) for noun, sentence, run, mark in marked(module, _MARK)]


def truth_of(outcome_id: str) -> tuple[str, str]:
    """The file and the name under which an outcome is recorded; cases and scenarios have ids of their own forms."""
    noun, _, name = outcome_id.partition(".")
    return (f"{TRUTH_FOLDER}/{noun}", name) if "@" in name else (noun, name)
