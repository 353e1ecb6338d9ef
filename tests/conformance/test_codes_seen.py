"""Request code x response code, RPC x status: what the emulator can answer, some case provokes and real brokers judge.

A case without a record fails elsewhere (test_runner), one that differs fails the stage `conformance`. So a pair that is
seen here was held against a real broker.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from possible_codes import possible_codes
from rocketmq_testkit.conformance.case import Case, Protocol, all_cases
from rocketmq_testkit.conformance.explained import UNPROVOKED
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget
from rocketmq_testkit.conformance.worlds.grpc import Grpc
from rocketmq_testkit.conformance.worlds.grpc_answer import Received
from rocketmq_testkit.conformance.worlds.remoting import Remoting
from rocketmq_testkit.emulator.gate.journal import Entry
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
    """What all cases of a protocol give together."""
    cases = [each for each in all_cases() if each.mark.protocol is protocol]
    with ThreadPoolExecutor(JOBS) as pool:
        return set[tuple[str, str]]().union(*pool.map(run, cases, (f"c{number}" for number in range(len(cases)))))


@pytest.fixture(scope="module")
def answered() -> Pairs:
    """Operations with the codes that requests of the remoting protocol got, by name."""

    def run(case: Case, token: str) -> Pairs:
        with EmulatorTarget() as target, target.lend(case.mark.settings, alone=case.mark.alone) as place:
            with Remoting(place, token) as world:
                case.run(world)
            outcomes = [entry for entry in place.emulator.journal if _has_outcome(entry)]  # type: ignore[attr-defined]  # what an EmulatorTarget lends
            return {(type(entry.subject).__name__, _name(entry.outcome)) for entry in outcomes}

    return of_cases(Protocol.REMOTING, run)


def _has_outcome(entry: Entry) -> bool:
    return entry.event in ("answered", "refused") and isinstance(entry.subject, Operation)


def _name(outcome: Any) -> str:
    code = outcome.code if isinstance(outcome, EngineError) else getattr(outcome, "code", None)
    return ResponseCode(code or ResponseCode.SUCCESS).name


class Listening(Grpc):
    """A world that remembers which RPC answered what."""

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self.heard: Pairs = set()

    def start_call(self, rpc: str, request: Any, **more: Any) -> Callable[[], Any]:
        """The answer, after a look at it."""
        collect = super().start_call(rpc, request, **more)

        def heard() -> Any:
            answer = collect()
            status = getattr(answer, "status", None)
            if isinstance(status, pb.Status):
                self.heard.add((rpc, code_name(status.code)))
            return answer

        return heard

    def see(self, label: str, value: Any, code: int | str | None = None) -> Any:
        """The same for what comes on a telemetry stream, which a case looks at as it notes it."""
        if isinstance(value, TelemetryCommand):
            self.heard.add(("Telemetry", code_name(value.status.code)))
        return super().see(label, value, code)

    def start_receiving(self, request: Any, **more: Any) -> Callable[[], Received]:
        """The same for what a stream ends with."""
        collect = super().start_receiving(request, **more)

        def heard() -> Received:
            received = collect()
            if received.status is not None:
                self.heard.add(("ReceiveMessage", code_name(received.status.code)))
            return received

        return heard


@pytest.fixture(scope="module")
def heard() -> Pairs:
    """RPCs with the statuses that they answered, by name."""

    def run(case: Case, token: str) -> Pairs:
        with (
            EmulatorTarget() as target,
            target.lend(case.mark.settings, alone=case.mark.alone) as place,
            Listening(place, token) as world,
        ):
            case.run(world)
            return world.heard

    return of_cases(Protocol.GRPC, run)


def test_every_served_request_code_is_asked_for(answered: Pairs) -> None:
    """No request code is served that no case sends."""
    served = {each.operation.__name__ for each in served_codes().values()}
    assert served - {operation for operation, _ in answered} == set()


def test_every_response_code_is_provoked(answered: Pairs) -> None:
    """Whatever code the engine may give a request, a case gets it; what none can get is listed with its reason."""
    possible = {
        (operation.__name__, code.name)
        for operation, codes in possible_codes().items()
        for code in codes - {ResponseCode.SUCCESS}
    }
    listed = {pair for pair in UNPROVOKED if pair in possible}
    assert sorted(possible - answered) == sorted(listed)


def test_every_status_is_provoked(heard: Pairs) -> None:
    """Whatever status an RPC may answer, a case gets it; what none can get is listed with its reason."""
    possible = {(rpc.name, code_name(code)) for rpc in RPCS for code in rpc.codes}
    listed = {pair for pair in UNPROVOKED if pair in possible}
    assert sorted(possible - heard) == sorted(listed)


def test_what_is_listed_is_possible() -> None:
    """The list of what no case provokes holds nothing that nobody could answer."""
    engine = {(operation.__name__, code.name) for operation, codes in possible_codes().items() for code in codes}
    proxy = {(rpc.name, code_name(code)) for rpc in RPCS for code in rpc.codes}
    assert UNPROVOKED.keys() - engine - proxy == set()
