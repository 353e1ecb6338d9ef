"""The uses of an SDK by name: each meets the rule of a situation, and returns the reaction."""

from collections.abc import Callable, Mapping

from rocketmq_testkit.emulator.faults.fault import KINDS

from ..drivers.process import Fields
from . import consuming, sending
from .reaction import Cell, Impossible, Reaction
from .situation import Situation
from .situation_context import SituationContext

USES: Mapping[str, Callable[[SituationContext, Situation], Reaction]] = {
    "send": sending.send,
    "start": sending.start,
    "consume": consuming.consume,
    "transaction": consuming.transaction,
    "postpone": consuming.postpone,
}
VERBS: Mapping[str, tuple[frozenset[str], str]] = {
    "transaction": (frozenset({"send_tx"}), "the SDK has no transactions"),
    "postpone": (frozenset({"simple", "invisible"}), "the SDK cannot change invisible durations"),
}
"""Use -> verbs that some SDKs lack, and the reason why an SDK without them is left out."""
NAMES = {"remoting": "remoting", "grpc": "gRPC"}


def observe(context: SituationContext, situation: Situation) -> Cell:
    """Run a situation with the SDK of a context. Raises NotFired if its rule did not act."""
    reason = obstacle(situation, context.hello)
    if reason:
        return Impossible(reason)
    return USES[situation.use](context, situation)


def obstacle(situation: Situation, hello: Fields) -> str:
    """Return the reason why the fault cannot reach an SDK; empty if it can. `hello`: its driver's reply to `hello`."""
    protocols = KINDS[situation.kind].KIND.protocols
    if hello["protocol"] not in protocols:
        return f"only {' and '.join(NAMES[each] for each in protocols)} has this fault"
    verbs, reason = VERBS.get(situation.use, (frozenset(), ""))
    return reason if verbs - set(hello["verbs"]) else ""
