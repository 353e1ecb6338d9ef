"""A scenario: an application's use of an SDK, as a function that runs with any SDK and notes its observations.

    @scenario("PullMessageProcessor.processRequest", verbs={"push"}, modes={"concurrent"})
    def a_concurrent_consumer_gets_each_message_once(s: ScenarioContext) -> None:
        \"\"\"A concurrent push consumer gets everything that is sent, whole, and each message once.\"\"\"
        ...

A scenario knows neither the target nor the language of the SDK; it names the verbs of the driver protocol that it
needs. The functions of `scenarios/` are discovered automatically. A scenario's id consists of its module and its
function. The id of its outcome also names the SDK: `plain.a_concurrent_consumer_gets_each_message_once@java-grpc`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from .case import marked
from .deployment.target import Capability

if TYPE_CHECKING:
    from .sdk.scenario_context import ScenarioContext

_MARK = "__rocketmq_scenario__"
RECORDS_FOLDER = "scenarios"
"""Folder of recorded scenarios, beside the files of the cases."""


@dataclass(frozen=True, slots=True)
class ScenarioMark:
    """Arguments of the decorator. `source`: upstream class and method that the behavior comes from.

    `verbs`, `modes`, `outcomes`, `allocations`, `options`: features that the SDK's driver must list in its reply to
    the verb `hello`.
    `protocol`: `remoting` or `grpc` if the scenario applies to only one of them. `capabilities`: capabilities that the
    target must have, in addition to creating topics. `settings`: keys of broker.conf. `alone`: the scenario needs the
    broker for itself. `time_passes`: the scenario waits for the broker's timers. A real broker takes long, so a run
    starts such scenarios first. The emulator's clock jumps and those of clients do not, so pytest runs them last.
    `long`: it runs as a task of its own, concurrently with others. `without`: SDKs that cannot take part, each with the
    reason.
    """

    source: str
    verbs: frozenset[str]
    modes: frozenset[str]
    outcomes: frozenset[str]
    _: KW_ONLY
    allocations: frozenset[str]
    options: frozenset[str]
    protocol: str | None
    capabilities: frozenset[Capability]
    settings: Mapping[str, str]
    alone: bool
    time_passes: bool
    long: bool
    without: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario. `noun` is its module in `scenarios/`, `sentence` describes its behavior."""

    noun: str
    name: str
    sentence: str
    mark: ScenarioMark
    _: KW_ONLY
    run: Callable[["ScenarioContext"], None]

    @property
    def id(self) -> str:
        """The id: `noun.name`."""
        return f"{self.noun}.{self.name}"

    def id_with(self, sdk: str) -> str:
        """Return the id of its outcome with an SDK: `noun.name@sdk`."""
        return f"{self.id}@{sdk}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All capabilities that the target must have."""
        mark = self.mark
        # While a scenario may stop or kill the broker, no other one uses it. `alone` then needs no new broker.
        may_stop = mark.capabilities & {Capability.RESTART, Capability.CRASH}
        new_broker = {Capability.CONFIGURE} if mark.settings or (mark.alone and not may_stop) else set()
        return mark.capabilities | {Capability.ADMIN} | new_broker

    def obstacle(self, sdk: str, hello: Mapping[str, Any]) -> str:
        """Return the reason why an SDK cannot take part; empty if it can. `hello`: its driver's reply to `hello`."""
        mark = self.mark
        if sdk in mark.without:
            return mark.without[sdk]
        if mark.protocol is not None and hello["protocol"] != mark.protocol:
            return f"the scenario is for SDKs of the {mark.protocol} protocol"
        lacking = [f"verb {each}" for each in sorted(mark.verbs - set(hello["verbs"]))]
        lacking += [f"mode {each}" for each in sorted(mark.modes - set(hello.get("modes", ())))]
        lacking += [f"outcome {each}" for each in sorted(mark.outcomes - set(hello.get("outcomes", ())))]
        lacking += [f"allocation {each}" for each in sorted(mark.allocations - set(hello.get("allocations", ())))]
        lacking += [f"option {each}" for each in sorted(mark.options - set(hello.get("options", ())))]
        return f"the SDK has no {', no '.join(lacking)}" if lacking else ""


F = TypeVar("F", bound=Callable[..., None])


def scenario(  # noqa: PLR0913 - the conditions of a scenario
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
    time_passes: bool = False,
    long: bool = False,
    without: Mapping[str, str] | None = None,
) -> Callable[[F], F]:
    """Mark a function of a ScenarioContext as a scenario; see `ScenarioMark`.

    Modes, outcomes and allocations imply the verb `push`.
    """
    needed = frozenset(verbs) | (frozenset({"push"}) if modes or outcomes or allocations else frozenset())
    mark = ScenarioMark(
        source,
        needed,
        frozenset(modes),
        frozenset(outcomes),
        allocations=frozenset(allocations),
        options=frozenset(options),
        protocol=protocol,
        capabilities=frozenset(capabilities),
        settings=dict(settings or {}),
        alone=alone,
        time_passes=time_passes,
        long=long,
        without=dict(without or {}),
    )

    def decorate(function: F) -> F:
        setattr(function, _MARK, mark)
        return function

    return decorate


def scenarios_of(module: ModuleType) -> list[Scenario]:
    """The scenarios of one module in source order. Raises CaseError if one has no sentence or no source."""
    return [
        Scenario(noun, run.__name__, sentence, mark, run=run) for noun, sentence, run, mark in marked(module, _MARK)
    ]


def record_key(outcome_id: str) -> tuple[str, str]:
    """Return file and name under which an outcome is recorded. Only the id of a scenario's outcome has an `@`."""
    noun, _, name = outcome_id.partition(".")
    return (f"{RECORDS_FOLDER}/{noun}", name) if "@" in name else (noun, name)
