"""The matrix of kinds of faults and SDKs: observes SDKs in situations, and compares reactions with the record."""

from collections.abc import Iterable, Sequence

from rocketmq_testkit.fixtures import NotRegistered

from ..drivers import registry
from ..drivers.process import DriverError, DriverFailure, Fields
from .reaction import DIED, Cell, Impossible, Reaction, agree, time_class, varied
from .record import ReactionRecord
from .situation import Situation
from .situation_context import SituationContext
from .uses import observe

LEFT_OUT = ("java-grpc-5.0",)
"""Old versions of SDKs that are in the matrix already."""
ATTEMPTS_MAX = 4
NO_TLS = "this SDK has no TLS"
"""The text with which a driver refuses TLS."""
NO_TRUST = "this SDK has TLS, and does not connect to a server with an authority of its own"
"""The reason why an SDK with TLS is not observed in a situation with `tls`."""


def sdks() -> list[str]:
    """Return the SDKs of the matrix, in the order of reports."""
    return [name for name in registry.names() if name not in LEFT_OUT]


class SdkRun:
    """One SDK, whose context is started at the first situation and again after the SDK's process has ended.

    A context manager.
    """

    def __init__(self, sdk: str) -> None:
        self.sdk = sdk
        self.hello: Fields = {}
        self._context: SituationContext | None = None

    def __enter__(self) -> "SdkRun":
        return self

    def __exit__(self, *_error: object) -> None:
        context, self._context = self._context, None
        if context is not None:
            context.__exit__(None, None, None)

    def observe(self, situation: Situation) -> Cell:
        """Observe the SDK in a situation. Raises NotFired."""
        try:
            return self._observed(situation)
        except DriverError:
            # A process that an earlier fault has damaged cannot even prepare the situation.
            self.__exit__()
            return self._observed(situation)

    def _observed(self, situation: Situation) -> Cell:
        context = self._context
        if context is not None and (context.tls, context.options) != (situation.tls, dict(situation.options)):
            self.__exit__()
        try:
            if self._context is None:
                self._context = SituationContext(self.sdk, tls=situation.tls, options=situation.options).__enter__()
                self.hello = self._context.hello
        except DriverFailure as failure:
            if situation.tls and NO_TLS in str(failure):
                return Impossible(NO_TLS)
            raise
        except NotRegistered:
            if situation.tls:
                return Impossible(NO_TRUST)
            raise
        try:
            return observe(self._context, situation)
        except DriverFailure:
            self.__exit__()
            return Reaction(DIED, time_class(0), None, None, stored=0, deliveries=[])
        finally:
            if situation.crashes:  # the consumer has offsets beyond the end of the queues, and misses later messages
                self.__exit__()

    def confirmed(self, situation: Situation, recorded: Cell | None) -> Cell:
        """Observe until a reaction agrees with the recorded one, or two observations agree. Raises NotFired."""
        seen: list[Cell] = []
        while len(seen) < ATTEMPTS_MAX:
            cell = self.observe(situation)
            if isinstance(cell, Impossible):
                return cell
            if recorded is not None and agree(cell, recorded):
                return recorded
            if any(agree(cell, other) for other in seen):
                return cell
            seen.append(cell)
        raise Unstable(f"{situation.kind} with {self.sdk}: {ATTEMPTS_MAX} different reactions: {seen}")

    def repeated(self, situation: Situation, times: int) -> Cell:
        """Observe `times` times; the cell has two classes of time if the observations do. Raises NotFired, Unstable."""
        seen = [self.observe(situation) for _ in range(times)]
        reactions = [each for each in seen if isinstance(each, Reaction)]
        if not reactions:
            return seen[0]
        cell = varied(reactions)
        if cell is None:
            raise Unstable(f"{situation.kind} with {self.sdk}: {times} observations differ in more than time: {seen}")
        return cell


class Unstable(Exception):
    """An SDK reacts differently each time, so there is nothing to record."""


def differences(sdk: str, situations: Iterable[Situation], record: ReactionRecord) -> list[str]:
    """Observe an SDK in situations, and return a sentence for each cell that differs from the record."""
    found = []
    with SdkRun(sdk) as run:
        for each in situations:
            recorded = record.cell(sdk, each.kind)
            seen = run.confirmed(each, recorded)
            if recorded is None or not agree(seen, recorded):
                before = "nothing" if recorded is None else recorded.form()
                found.append(f"{each.kind} with {sdk}: recorded {before}, observed {seen.form()}")
    return found


def empty_cells(record: ReactionRecord, kinds: Sequence[str]) -> list[str]:
    """Return a sentence for each cell that no run has observed."""
    return [
        f"{kind} with {sdk}: no reaction is recorded; run make fault-matrix KINDS={kind} SDKS={sdk}"
        for sdk in sdks()
        for kind in kinds
        if record.cell(sdk, kind) is None
    ]
