"""Scenarios: their SDKs, verdicts of scenarios that cannot run, and completeness of the records."""

import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from rocketmq_testkit.conformance.case import CaseError
from rocketmq_testkit.conformance.deployment.target import REFERENCE_VERSION, Capability
from rocketmq_testkit.conformance.discovery import all_scenarios
from rocketmq_testkit.conformance.drivers import registry
from rocketmq_testkit.conformance.outcomes import known_differences
from rocketmq_testkit.conformance.outcomes.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.conformance.runner.active_drivers import ActiveDrivers
from rocketmq_testkit.conformance.runner.run import carry_out
from rocketmq_testkit.conformance.runner.scenario_tasks import PIECE_MAX, scenario_tasks
from rocketmq_testkit.conformance.scenario import Scenario, record_key, scenario, scenarios_of
from rocketmq_testkit.conformance.sdk.scenario_context import ScenarioContext, stable
from rocketmq_testkit.conformance.sdk.sdk_clients import Style, comparison, order
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget


@scenario("SendMessageProcessor", verbs={"send"})
def sends(s: ScenarioContext) -> None:
    """A message is sent."""
    s.note("offset", s.producer(topic := s.topic()).send(topic).get("offset"))


@scenario("SendMessageProcessor", verbs={"send"})
def stumbles(s: ScenarioContext) -> None:
    """A scenario fails before its end."""
    s.note("before", 1)
    s.require(False, "it stands on nothing")


@scenario("BrokerConfig", verbs={"send"}, settings={"autoCreateTopicEnable": "false"})
def configured(s: ScenarioContext) -> None:
    """A broker without automatic topics rejects a remoting send."""
    s.refusal("sent", lambda: s.producer().send(s.admin.new()), text=False)


def a_scenario(function: Callable[[ScenarioContext], None]) -> Scenario:
    module = types.ModuleType("sample")
    function.__module__ = "sample"
    setattr(module, function.__name__, function)
    [found] = scenarios_of(module)
    return found


def outcomes(records: RecordedOutcomes, sdk: str, *functions: Callable[[ScenarioContext], None]) -> list[Outcome]:
    with EmulatorTarget() as target:
        tasks = scenario_tasks(
            [a_scenario(each) for each in functions], [sdk], target, records, active_drivers=ActiveDrivers()
        )
        return [outcome for task in (*tasks.own, *tasks.common) for outcome in task()]


def test_scenarios_have_unique_ids_and_exclude_only_existing_sdks() -> None:
    scenarios = all_scenarios()
    assert len(scenarios) >= 25
    assert len({each.id for each in scenarios}) == len(scenarios)
    assert {sdk for each in scenarios for sdk in each.mark.without} <= set(registry.names())


_SDKS_OF_THE_PAGE = {
    ("remoting", "Java 4.x and 5.x, Go, C++"): {"java-remoting-4.9", "java-remoting", "go-remoting", "cpp"},
    ("gRPC", "Java, Go, Python, Node, Rust"): {"java-grpc", "java-grpc-5.0", "go-grpc", "python", "node", "rust"},
}
"""(protocol, SDKs as the page names them) in the table of topics that clients create -> drivers of these SDKs."""


@pytest.mark.parametrize(("words", "sdks"), _SDKS_OF_THE_PAGE.items(), ids=["remoting", "gRPC"])
def test_the_scenario_of_a_missing_topic_is_recorded_with_every_sdk_of_the_page(
    words: tuple[str, str], sdks: set[str]
) -> None:
    """The records agree with the page: remoting producers create a missing topic, those of gRPC SDKs fail."""
    protocol, names = words
    name = "topics.a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc"
    page = (Path(__file__).parents[2] / "docs" / "fixtures.md").read_text()
    table = page.partition("\n## Topics that clients create\n")[2].partition("\n## ")[0]
    assert f"`{name}`" in table
    assert f"of the {protocol} SDKs ({names}) |" in table
    assert sdks == {recipe.name for recipe in registry.RECIPES if recipe.protocol == protocol.lower()}
    [found] = [each for each in all_scenarios() if each.id == name]
    assert not found.mark.without
    for sdk in sdks:
        record = RecordedOutcomes().record_of(REFERENCE_VERSION, *record_key(found.id_with(sdk)))
        assert record is not None
        assert [label for label, _ in record.notes] == ["sent" if protocol == "remoting" else "refused"]


def test_every_record_belongs_to_an_existing_scenario_and_sdk() -> None:
    """Every record and every explained difference belongs to an existing scenario and SDK."""
    records, folder = (
        RecordedOutcomes(),
        Path(known_differences.__file__).parents[1] / "recorded" / REFERENCE_VERSION / "scenarios",
    )
    known = {each.id_with(sdk) for each in all_scenarios() for sdk in registry.names()}
    recorded = {
        f"{file.stem}.{name}"
        for file in folder.glob("*.json")
        for name in records.names(REFERENCE_VERSION, f"scenarios/{file.stem}")
    }
    assert recorded
    assert recorded <= known
    assert {name for name in (*known_differences.DELIBERATE, *known_differences.GAPS) if "@" in name} <= known


def test_every_scenario_is_recorded_with_some_sdk() -> None:
    """Every scenario is recorded with at least one SDK and a real broker."""
    records = RecordedOutcomes()
    silent = [
        each.id
        for each in all_scenarios()
        if not any(records.record_of(REFERENCE_VERSION, *record_key(each.id_with(sdk))) for sdk in registry.names())
    ]
    assert silent == []


def test_a_scenario_without_a_sentence_is_refused() -> None:
    """A scenario whose docstring is not a sentence is rejected."""

    @scenario("Somewhere")
    def silent(s: ScenarioContext) -> None:
        """no sentence"""

    with pytest.raises(CaseError, match="has no sentence"):
        a_scenario(silent)


def test_missing_features_of_an_sdk_are_reported_by_name() -> None:
    """A missing feature of an SDK is reported by its name in the driver protocol."""
    hello = {"protocol": "grpc", "verbs": ["send", "push"], "modes": ["orderly"]}

    @scenario("Somewhere", verbs={"send", "recall"}, modes={"pop"}, outcomes={"throw"}, without={"rust": "it is busy"})
    def demanding(s: ScenarioContext) -> None:
        """It needs many features."""

    found = a_scenario(demanding)
    assert found.obstacle("java-grpc", hello) == "the SDK has no verb recall, no mode pop, no outcome throw"
    assert found.obstacle("rust", hello) == "it is busy"

    @scenario("Somewhere", protocol="remoting")
    def of_remoting(s: ScenarioContext) -> None:
        """It is for one protocol."""

    assert "remoting" in a_scenario(of_remoting).obstacle("java-grpc", hello)


def test_notes_are_compared_with_the_record_of_scenario_and_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes are compared with the record of scenario and SDK. A scenario that fails is an error, or the listed gap."""
    records = RecordedOutcomes(tmp_path)
    [first, broken] = outcomes(records, "python", sends, stumbles)
    assert (first.id, first.verdict) == ("sample.sends@python", Verdict.UNRECORDED)
    assert (broken.verdict, broken.notes) == (Verdict.ERROR, [("before", 1)])
    assert "it stands on nothing" in broken.reason
    records.store(REFERENCE_VERSION, "scenarios/sample", {"sends@python": first.notes}, "2020-01-01")
    monkeypatch.setattr(known_differences, "GAPS", {"sample.stumbles": "it has no legs"})
    assert [each.verdict for each in outcomes(records, "python", sends, stumbles)] == [Verdict.SAME, Verdict.GAP]


def test_scenarios_with_unexpected_outcomes_run_again_after_all_others(tmp_path: Path) -> None:
    """A second attempt at once would meet the load that the first one met."""
    runs: list[str] = []

    @scenario("SendMessageProcessor", verbs={"send"})
    def is_late_once(s: ScenarioContext) -> None:
        """A scenario fails at its first attempt."""
        runs.append("is late once")
        s.note("attempts", 1)
        s.require(runs.count("is late once") > 1, "it takes too long")

    @scenario("SendMessageProcessor", verbs={"send"})
    def is_in_time(s: ScenarioContext) -> None:
        """A scenario succeeds."""
        runs.append("is in time")
        s.note("attempts", 1)

    notes: dict[str, list[tuple[str, object]]] = {
        f"{name}@python": [("attempts", 1)] for name in ("is_late_once", "is_in_time")
    }
    records = RecordedOutcomes(tmp_path)
    records.store(REFERENCE_VERSION, "scenarios/sample", notes, "2020-01-01")
    run = carry_out(
        [],
        [EmulatorTarget()],
        records,
        jobs=1,
        each=lambda _: None,
        scenarios=[a_scenario(is_late_once), a_scenario(is_in_time)],
        sdks=["python"],
        attempts=2,
    )
    assert runs == ["is late once", "is in time", "is late once"]
    late, in_time = run.outcomes
    assert (late.verdict, late.reason, len(late.earlier_attempts)) == (Verdict.SAME, "at attempt 2", 1)
    assert (in_time.verdict, in_time.earlier_attempts) == (Verdict.SAME, ())


def test_a_scenario_with_settings_runs_with_an_emulator_that_has_them(tmp_path: Path) -> None:
    [found] = outcomes(RecordedOutcomes(tmp_path), "cpp", configured)
    assert found.notes[0][1]["kind"] == "ProducerSendSyncFailed"


@pytest.mark.parametrize("style", ["concurrent", "broadcast"])
def test_an_sdk_whose_consumers_start_at_the_end_misses_no_message(tmp_path: Path, style: Style) -> None:
    """An SDK whose consumers start at the end of a queue misses no message of a scenario.

    The suite first sends a message of its own to such consumers. A scenario sees it only in the offsets.
    """

    @scenario("DefaultMQPushConsumerImpl", modes={style})
    def begins(s: ScenarioContext) -> None:
        """A message is received."""
        topic, group = s.pair(style)
        consumer = s.consumer(group, topic, style)
        s.producer(topic).send(topic, "hello")
        [message] = s.wait_for(1, consumer)
        s.note("bodies", consumer.bodies)
        s.note("primed", message["offset"] > 0)

    [found] = outcomes(RecordedOutcomes(tmp_path), "cpp", begins)
    assert found.notes == [("bodies", ["hello"]), ("primed", True)], found.reason


def test_a_recorded_scenario_fails_if_the_driver_loses_a_verb(tmp_path: Path) -> None:
    """A scenario with a record fails if the driver loses a verb that it needs."""
    records = RecordedOutcomes(tmp_path)

    @scenario("Somewhere", verbs={"fly"})
    def flies(s: ScenarioContext) -> None:
        """It flies."""

    assert [each.verdict for each in outcomes(records, "python", flies)] == [Verdict.NOT_APPLICABLE]
    records.store(REFERENCE_VERSION, "scenarios/sample", {"flies@python": [("high", 1)]}, "2020-01-01")
    [found] = outcomes(records, "python", flies)
    assert (found.verdict, "no verb fly" in found.reason) == (Verdict.ERROR, True)


def test_a_scenario_that_needs_more_than_the_target_offers_is_not_applicable(tmp_path: Path) -> None:

    @scenario("Somewhere", capabilities={Capability.SEVERAL_BROKERS})
    def spreads(s: ScenarioContext) -> None:
        """It needs several brokers."""

    class OneBroker(EmulatorTarget):
        capabilities = EmulatorTarget.capabilities - {Capability.SEVERAL_BROKERS}

    [task] = scenario_tasks(
        [a_scenario(spreads)], ["python"], OneBroker(), RecordedOutcomes(tmp_path), active_drivers=ActiveDrivers()
    ).common
    [found] = task()
    assert (found.verdict, found.reason) == (Verdict.NOT_APPLICABLE, "needs several-brokers")


def test_every_scenario_is_in_exactly_one_piece_of_each_sdk(tmp_path: Path) -> None:
    """Every scenario is in exactly one piece of each SDK, and no piece exceeds the maximum.

    The longest scenarios start first.
    """
    scenarios = all_scenarios()
    tasks = scenario_tasks(
        scenarios, ["python", "rust"], EmulatorTarget(), RecordedOutcomes(tmp_path), active_drivers=ActiveDrivers()
    )
    own, common = [[cast("partial[Any]", task).args for task in line] for line in (tasks.own, tasks.common)]
    assert all(sdks == ["python", "rust"] for _, sdks in own)
    assert {len(group) for group, _ in own} == {1}
    assert max(len(group) for group, _ in common) <= PIECE_MAX
    first = [each.id for group, _ in common[: 2 * sum(each.mark.long for each in scenarios)] for each in group]
    assert first == [each.id for each in scenarios if each.mark.long for _ in range(2)] != []
    for sdk in ("python", "rust"):
        names = [each.id for group, sdks in (*own, *common) if sdk in sdks for each in group]
        assert sorted(names) == sorted(each.id for each in scenarios)


def test_a_comparison_names_lost_repeated_unknown_and_changed_messages() -> None:
    """A comparison of sent and received messages names only lost, repeated, unknown and changed messages."""

    def came(body: str, tag: str = "t") -> dict[str, object]:
        return {"body": body, "topic": "x", "tag": tag, "keys": ["b", "a"], "props": {}, "id": "1", "attempt": 1}

    sent = [
        {
            "body": name.encode(),
            "topic": "x",
            "tag": "t",
            "keys": ["a", "b"],
            "props": {"p": "1"} if name == "b" else {},
        }
        for name in ("a", "b", "c")
    ]
    encoded = {"a": "YQ==", "b": "Yg==", "z": "eg=="}
    seen = comparison(sent, [[came(encoded["a"]), came(encoded["a"])], [came(encoded["b"], "u"), came(encoded["z"])]])
    assert (seen["sent"], seen["received"]) == (3, 4)
    assert seen["lost"] == ["c"]
    assert seen["more than once"] == ["a"]
    assert seen["never sent"] == ["z"]
    assert seen["changed"] == ["property p", "tag"]


def test_order_is_kept_if_numbers_rise_within_each_message_group() -> None:
    assert order([("a", 1), ("b", 1), ("a", 2)]) == "kept"
    assert order([("a", 2), ("b", 1), ("a", 1)]) == {"a": [2, 1], "b": [1]}


def test_durations_ids_and_client_names_in_error_texts_are_replaced() -> None:
    """Durations, ids and client names in error texts are replaced because they differ between runs."""
    assert stable("waited 12 ms for 0a1b2c3d-0a1b-2c3d-4e5f-000000000001") == "waited {n} ms for {uuid}"
    assert stable("client host@123@1@abc is gone") == "client {client} is gone"
