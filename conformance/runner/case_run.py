"""The run of one case on a target, from lending a deployment to the verdict."""

import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..case import Case, Protocol
from ..clients.contradiction import Contradiction
from ..context.case_context import CaseContext
from ..deployment.target import REFERENCE_VERSION, Deployment, Target
from ..outcomes import known_differences
from ..outcomes.outcome import Outcome, Verdict, judge
from ..outcomes.recorded_outcomes import RecordedOutcomes


def context_of(protocol: Protocol) -> Callable[[Deployment, str], CaseContext]:
    """Return the class of contexts for cases of a protocol."""
    if protocol is Protocol.GRPC:
        from ..context.grpc import GrpcContext  # grpcio is loaded only if it is needed

        return GrpcContext
    from ..context.remoting import RemotingContext

    return RemotingContext


Lend = Callable[[], AbstractContextManager[Deployment]]
"""Lends the deployment of a case."""


def run_case(case: Case, target: Target, records: RecordedOutcomes, token: str, *, lend: Lend | None = None) -> Outcome:
    """Run one case on a target and judge it; raises only errors that end the whole run (KeyboardInterrupt).

    `lend`: source of its deployment, by default the target.
    """
    missing = sorted(case.needs - target.capabilities)
    if missing:
        return Outcome(case.id, target.name, Verdict.NOT_APPLICABLE, 0.0, reason=f"needs {', '.join(missing)}")
    record = records.record_of(target.recorded_version, case.noun, case.name)
    reference = records.reference(record, case.noun, case.name)
    begin = time.monotonic()
    notes: list[tuple[str, Any]] = []
    contradictions: list[str] = []
    problem = ""
    try:
        with (
            lend() if lend is not None else target.lend(case.settings_of(target), alone=case.mark.alone) as deployment,
            context_of(case.mark.protocol)(deployment, token) as context,
        ):
            notes, contradictions = context.notes, context.contradictions
            try:
                case.run(context)
            except (Contradiction, LookupError, ValueError, AttributeError) as error:
                if target.recorded_version == REFERENCE_VERSION:
                    raise
                # A version that deviates may make the rest of the case impossible; this is then noted as its behavior.
                context.note("given up", f"{type(error).__name__}: {error}")
    except Exception as error:
        problem = _problem(error)
    seconds = time.monotonic() - begin
    deliberate, gap = _explained(case.id, target)
    if problem:
        verdict, reason = (Verdict.ERROR, problem) if gap is None else (Verdict.GAP, gap)
    elif contradictions and target.recorded_version == REFERENCE_VERSION and deliberate is None and gap is None:
        # The case states the behavior of the reference version; a record cannot contradict it.
        verdict, reason = Verdict.DIFFERS, "\n".join(contradictions)
    else:
        verdict, reason = judge(notes, record, deliberate=deliberate, gap=gap)
    return Outcome(
        case.id, target.name, verdict, seconds, notes=notes, record=record, reference=reference, reason=reason
    )


def _explained(name: str, target: Target) -> tuple[str | None, str | None]:
    if not target.emulated:
        return None, None
    return known_differences.deliberate(name, target.defects), known_differences.GAPS.get(name)


def _problem(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = next((each for each in reversed(frames) if "/conformance/cases/" in each.filename), None)
    if own is not None:
        where = f" at: {own.line}"
    else:
        where = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
