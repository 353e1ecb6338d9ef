"""Some case provokes each response code of each operation, and each status of each RPC, that the emulator can return.

Each of these pairs was compared with a real broker: a case without a record fails in test_runner, and a case that
differs from its record fails the stage `conformance`.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from possible_codes import possible_codes
from rocketmq_testkit.conformance.case import Case, Protocol
from rocketmq_testkit.conformance.clients.grpc_response import Received
from rocketmq_testkit.conformance.context.grpc import GrpcContext
from rocketmq_testkit.conformance.context.remoting import RemotingContext
from rocketmq_testkit.conformance.discovery import all_cases
from rocketmq_testkit.conformance.outcomes.known_differences import UNTESTED_RESPONSES
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget
from rocketmq_testkit.emulator.gate.journal_entry import JournalEntry
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto.service_pb2 import TelemetryCommand
from rocketmq_testkit.grpc_v2.rules.status import code_name
from rocketmq_testkit.grpc_v2.services import RPCS
from rocketmq_testkit.remoting.request_code_page import served_codes

JOBS = 3
Pairs = set[tuple[str, str]]


def of_cases(protocol: Protocol, run: Callable[[Case, str], Pairs]) -> Pairs:
    """Return the pairs of all cases of a protocol."""
    cases = [each for each in all_cases() if each.mark.protocol is protocol]
    with ThreadPoolExecutor(JOBS) as pool:
        return set[tuple[str, str]]().union(*pool.map(run, cases, (f"c{number}" for number in range(len(cases)))))


@pytest.fixture(scope="module")
def answered() -> Pairs:
    """Pairs of operation name and response code of remoting requests."""

    def run(case: Case, token: str) -> Pairs:
        with EmulatorTarget() as target, target.lend(case.mark.settings, alone=case.mark.alone) as place:
            with RemotingContext(place, token) as context:
                case.run(context)
            outcomes = [entry for entry in place.emulator.journal if _has_outcome(entry)]  # type: ignore[attr-defined]  # what an EmulatorTarget lends
            return {(type(entry.subject).__name__, _name(entry.outcome)) for entry in outcomes}

    return of_cases(Protocol.REMOTING, run)


def _has_outcome(entry: JournalEntry) -> bool:
    return entry.event in ("responded", "refused") and isinstance(entry.subject, Operation)


def _name(outcome: Any) -> str:
    code = outcome.code if isinstance(outcome, EngineError) else getattr(outcome, "code", None)
    return ResponseCode(code or ResponseCode.SUCCESS).name


class Listening(GrpcContext):
    """A client that records the status of each RPC."""

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self.heard: Pairs = set()

    def start_call(self, rpc: str, request: Any, **more: Any) -> Callable[[], Any]:
        """Record the status of the response before returning it."""
        collect = super().start_call(rpc, request, **more)

        def heard() -> Any:
            response = collect()
            status = getattr(response, "status", None)
            if isinstance(status, pb.Status):
                self.heard.add((rpc, code_name(status.code)))
            return response

        return heard

    def note(self, label: str, value: Any, code: int | str | None = None) -> Any:
        """Also record the status of a telemetry command, which a case notes when it reads the command."""
        if isinstance(value, TelemetryCommand):
            self.heard.add(("Telemetry", code_name(value.status.code)))
        return super().note(label, value, code)

    def start_receiving(self, request: Any, **more: Any) -> Callable[[], Received]:
        """Also record the status of a receive stream."""
        collect = super().start_receiving(request, **more)

        def heard() -> Received:
            received = collect()
            if received.status is not None:
                self.heard.add(("ReceiveMessage", code_name(received.status.code)))
            return received

        return heard


@pytest.fixture(scope="module")
def heard() -> Pairs:
    """Pairs of RPC name and status."""

    def run(case: Case, token: str) -> Pairs:
        with (
            EmulatorTarget() as target,
            target.lend(case.mark.settings, alone=case.mark.alone) as place,
            Listening(place, token) as context,
        ):
            case.run(context)
            return context.heard

    return of_cases(Protocol.GRPC, run)


def test_every_served_request_code_is_sent_by_some_case(answered: Pairs) -> None:
    served = {each.operation.__name__ for each in served_codes().values()}
    assert served - {operation for operation, _ in answered} == set()


def test_every_response_code_is_provoked_by_some_case_or_listed(answered: Pairs) -> None:
    """Every response code of the engine is provoked by some case, or listed with the reason why none can."""
    possible = {
        (operation.__name__, code.name)
        for operation, codes in possible_codes().items()
        for code in codes - {ResponseCode.SUCCESS}
    }
    listed = {pair for pair in UNTESTED_RESPONSES if pair in possible}
    assert sorted(possible - answered) == sorted(listed)


def test_every_status_of_an_rpc_is_provoked_by_some_case_or_listed(heard: Pairs) -> None:
    """Every status of an RPC is provoked by some case, or listed with the reason why none can."""
    possible = {(rpc.name, code_name(code)) for rpc in RPCS for code in rpc.codes}
    listed = {pair for pair in UNTESTED_RESPONSES if pair in possible}
    assert sorted(possible - heard) == sorted(listed)


def test_the_list_of_unprovoked_codes_holds_only_possible_codes() -> None:
    """The list of unprovoked codes holds only codes that the engine or an RPC can return."""
    engine = {(operation.__name__, code.name) for operation, codes in possible_codes().items() for code in codes}
    proxy = {(rpc.name, code_name(code)) for rpc in RPCS for code in rpc.codes}
    assert UNTESTED_RESPONSES.keys() - engine - proxy == set()
