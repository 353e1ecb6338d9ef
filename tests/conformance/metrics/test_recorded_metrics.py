"""The metrics of the emulator, compared with those recorded from a real broker and proxy after the same traffic."""

import re
import urllib.request
from collections.abc import Mapping

import pytest
from rocketmq_testkit.conformance.context.grpc import GrpcContext
from rocketmq_testkit.conformance.context.remoting import RemotingContext
from rocketmq_testkit.conformance.deployment.target import REFERENCE_VERSION
from rocketmq_testkit.conformance.metrics.differences import DELIBERATE, NOT_DETERMINED, POLLED, reason
from rocketmq_testkit.conformance.metrics.recorded import read
from rocketmq_testkit.conformance.metrics.scraped import Scrape, parse
from rocketmq_testkit.conformance.metrics.traffic import TOKEN, run
from rocketmq_testkit.conformance.targets.emulator import EmulatorDeployment, EmulatorTarget
from rocketmq_testkit.emulator.metrics.upstream_families import UPSTREAM

RECORD = read(REFERENCE_VERSION)
MOMENTS = ("start", "middle", "end")
PROXY_METRIC = "rocketmq_proxy_up"


@pytest.fixture(scope="module")
def scrapes() -> Mapping[str, Scrape]:
    """The scrapes of an emulator at the three moments."""
    found = {}
    with EmulatorTarget() as target, target.lend({}, alone=True) as deployment:
        assert isinstance(deployment, EmulatorDeployment)
        address = f"{deployment.emulator.control}/metrics"

        def scrape(moment: str) -> None:
            with urllib.request.urlopen(address) as response:
                found[moment] = parse(response.read().decode())

        with RemotingContext(deployment, TOKEN) as t, GrpcContext(deployment, TOKEN) as g:
            run(t, g, scrape)
    return found


def of_family(scrape: Scrape, family: str) -> dict[str, Mapping[tuple[tuple[str, str], ...], float]]:
    """Return the values of a family's samples by name and labels."""
    stem = UPSTREAM[family].sample_name
    names = [name for name in scrape.names if re.fullmatch(f"{stem}(_bucket|_count|_sum)?", name)]
    return {name: scrape.of(name) for name in names}


def test_record_names_its_version_and_date() -> None:
    """The record names the reference version and its date."""
    assert RECORD.version == REFERENCE_VERSION
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", RECORD.date)


def test_every_recorded_metric_is_declared_and_every_declared_one_recorded() -> None:
    """The traffic changes each metric of a broker, and the emulator declares no other names of upstream."""
    recorded = {name: kind for scrape in RECORD.broker.values() for name, kind in scrape.types.items()}
    recorded |= RECORD.proxy.types
    assert recorded == {name: family.kind.value for name, family in UPSTREAM.items()}


@pytest.mark.parametrize("family", [name for name in UPSTREAM if name != PROXY_METRIC])
def test_metric_has_the_recorded_type_names_labels_and_values(family: str, scrapes: Mapping[str, Scrape]) -> None:
    """Values equal the recorded ones. If a listed reason explains a difference, names, labels and buckets are equal."""
    for moment in MOMENTS:
        real, own = RECORD.broker[moment], scrapes[moment]
        assert own.types.get(family) == real.types.get(family), moment
        expected, found = of_family(real, family), of_family(own, family)
        assert set(found) == set(expected), moment
        for name, values in expected.items():
            if reason(name, moment) is None:
                assert without_polls(found[name]) == without_polls(values), (moment, name)
            else:
                assert set(found[name]) == set(values), (moment, name)


def without_polls(values: Mapping[tuple[tuple[str, str], ...], float]) -> Mapping[object, float | None]:
    """Return values without those of polls, whose number differs in each run."""
    return {labels: None if ("request_code", POLLED) in labels else value for labels, value in values.items()}


def test_proxy_metric_equals_that_of_a_proxy_in_cluster_mode(scrapes: Mapping[str, Scrape]) -> None:
    """The proxy metric is compared separately, because a proxy in the process of a broker does not export it."""
    assert of_family(scrapes["end"], PROXY_METRIC) == of_family(RECORD.proxy, PROXY_METRIC)
    assert PROXY_METRIC not in RECORD.broker["end"].types


@pytest.mark.parametrize("pattern", [*DELIBERATE, *NOT_DETERMINED])
def test_reason_is_about_a_recorded_metric(pattern: str) -> None:
    """A listed reason that applies to no recorded metric fails."""
    names = {name for scrape in RECORD.broker.values() for name in scrape.names}
    assert any(re.fullmatch(pattern, name) for name in names)
