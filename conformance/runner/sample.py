"""The fixed sample of pairs of scenario and SDK that a usual run of CI executes instead of the whole matrix.

Every scenario is in it with an SDK of each protocol that can take part. Every SDK is in it with at least a sixth of its
scenarios, and with each kind of consumer that it has. A hash of the names of scenario and SDK chooses, so no pair is
listed by hand, and a new scenario or SDK changes few pairs of the others.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence

from ..drivers import registry
from ..outcomes.recorded_outcomes import RecordedOutcomes
from ..scenario import Scenario
from .matrix_record import MatrixRecord, digest_of, recorded_sdks

SHARE = 6
"""Each SDK has at least one in this number of its scenarios in the sample."""
CONSUMERS = frozenset({"simple", "receive", "lite", "poll"})
"""Verbs of the driver protocol that start a consumer without a mode."""
Pair = tuple[str, str]
"""A scenario's id and the name of an SDK."""


class ScenarioSample:
    """Pairs of scenario and SDK that a run omits, because the last whole matrix ran them."""

    def __init__(self, scenarios: Iterable[Scenario], records: RecordedOutcomes, matrix: MatrixRecord) -> None:
        takes_part = [(each, recorded_sdks(each, records)) for each in scenarios]
        digests = {each.id: digest_of(each, records) for each, _ in takes_part}
        chosen = drawn(takes_part)
        self._omitted: set[Pair] = {
            (each.id, sdk)
            for each, sdks in takes_part
            for sdk in sdks
            if (each.id, sdk) not in chosen and matrix.covers(each, sdk, digests[each.id])
        }

    def omits(self, scenario: Scenario, sdk: str) -> bool:
        """True if the pair is neither in the sample nor new or changed since the last whole matrix."""
        return (scenario.id, sdk) in self._omitted


def drawn(takes_part: Sequence[tuple[Scenario, Sequence[str]]]) -> set[Pair]:
    """Return the sample of scenarios, given the SDKs that can take part in each."""
    chosen: set[Pair] = set()
    for scenario, sdks in takes_part:
        in_order = sorted(sdks, key=lambda sdk: _rank(scenario, sdk))
        firsts = {registry.recipe(sdk).protocol: sdk for sdk in reversed(in_order)}
        chosen |= {(scenario.id, sdk) for sdk in firsts.values()}
    for sdk in registry.names():
        own = sorted((each for each, sdks in takes_part if sdk in sdks), key=lambda each: _rank(each, sdk))
        chosen |= {(id_, sdk) for id_ in _added(own, {id_ for id_, name in chosen if name == sdk})}
    return chosen


def kinds(scenario: Scenario) -> Collection[str]:
    """Return the kinds of consumers that a scenario uses: modes of push consumers, and consumers without a mode."""
    return scenario.mark.modes | (scenario.mark.verbs & CONSUMERS)


def _added(own: Sequence[Scenario], ids: Collection[str]) -> list[str]:
    """Return the scenarios that an SDK needs in addition to `ids`: for each kind of consumer, then for its share."""
    added: list[str] = []
    seen = {kind for each in own if each.id in ids for kind in kinds(each)}
    for each in own:
        if not seen.issuperset(kinds(each)):
            added.append(each.id)
            seen |= set(kinds(each))
    missing = -(-len(own) // SHARE) - len(ids) - len(added)
    rest = [each.id for each in own if each.id not in ids and each.id not in added]
    return added + rest[: max(0, missing)]


def _rank(scenario: Scenario, sdk: str) -> str:
    return hashlib.sha256(scenario.id_with(sdk).encode()).hexdigest()
