"""The record of the last whole matrix on the emulator: every scenario with every SDK that can take part.

    python -m rocketmq_testkit.conformance.runner.matrix_record OUTCOMES

`make matrix` runs the matrix and writes the record. A usual run of CI executes a sample (`sample.py`), and in addition
each pair of scenario and SDK that the record lacks, or that has changed since: the source of the scenario, the recorded
outcomes of the real broker, or the version of the SDK.
"""

import hashlib
import inspect
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from ..deployment.target import REFERENCE_VERSION
from ..discovery import all_scenarios
from ..drivers import registry
from ..outcomes.outcome import Verdict
from ..outcomes.recorded_outcomes import FOLDER, RecordedOutcomes
from ..scenario import Scenario, record_key

FILE = FOLDER / "matrix.json"
CHANGED_MAX = 120
"""Limit of pairs that run beside the sample because the record lacks them; 120 take some 30 seconds."""


class MatrixRecordError(ValueError):
    """The outcomes of a run cannot be recorded; the text says why."""


@dataclass(frozen=True, slots=True)
class MatrixRecord:
    """The last whole matrix. `versions`: of each SDK; `digests` and `sdks`: of each scenario, by its id."""

    date: str
    product: str
    versions: Mapping[str, str]
    digests: Mapping[str, str]
    _: KW_ONLY
    sdks: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, file: Path = FILE) -> "MatrixRecord":
        """Read the record; without a file it is empty."""
        if not file.is_file():
            return cls("", "", {}, {}, sdks={})
        form = json.loads(file.read_text())
        scenarios = form["scenarios"]
        return cls(
            form["date"],
            form["product"],
            form["sdks"],
            {id_: each[0] for id_, each in scenarios.items()},
            sdks={id_: each[1:] for id_, each in scenarios.items()},
        )

    def covers(self, scenario: Scenario, sdk: str, digest: str) -> bool:
        """True if the matrix ran a scenario with an SDK, and both are unchanged."""
        ran = sdk in self.sdks.get(scenario.id, ()) and self.digests[scenario.id] == digest
        return ran and self.versions.get(sdk) == registry.recipe(sdk).version


def recorded_sdks(scenario: Scenario, records: RecordedOutcomes) -> list[str]:
    """Return the SDKs with which a real broker's outcome of a scenario is recorded, in the order of reports."""
    return [
        sdk
        for sdk in registry.names()
        if records.record_of(REFERENCE_VERSION, *record_key(scenario.id_with(sdk))) is not None
    ]


def digest_of(scenario: Scenario, records: RecordedOutcomes) -> str:
    """Return a digest of a scenario's source and of its recorded outcomes with all SDKs."""
    content = hashlib.sha256(inspect.getsource(scenario.run).encode())
    for sdk in recorded_sdks(scenario, records):
        record = records.record_of(REFERENCE_VERSION, *record_key(scenario.id_with(sdk)))
        assert record is not None
        content.update(json.dumps([sdk, record.notes], sort_keys=True).encode())
    return content.hexdigest()[:12]


def changed(scenarios: Iterable[Scenario], records: RecordedOutcomes, record: MatrixRecord) -> list[str]:
    """Return the ids of recorded pairs that the last whole matrix lacks, or that have changed since."""
    return [
        scenario.id_with(sdk)
        for scenario, digest in [(each, digest_of(each, records)) for each in scenarios]
        for sdk in recorded_sdks(scenario, records)
        if not record.covers(scenario, sdk, digest)
    ]


def problem(scenarios: Iterable[Scenario], records: RecordedOutcomes, record: MatrixRecord) -> str:
    """Return a sentence if the record is stale; empty if not."""
    ids = changed(scenarios, records, record)
    if len(ids) <= CHANGED_MAX:
        return ""
    return (
        f"matrix of {record.date or 'no day'}: {len(ids)} pairs of scenario and SDK are new or have changed since, "
        f"such as {ids[0]}; at most {CHANGED_MAX} may run beside the sample; run `make matrix` and commit {FILE.name}"
    )


def form_of(content: Mapping[str, Any], scenarios: Iterable[Scenario], records: RecordedOutcomes) -> dict[str, Any]:
    """Return the record of a run's document. Raises MatrixRecordError if its outcomes are not the whole matrix."""
    outcomes = {each["id"]: each for each in content["outcomes"] if each["target"] == "emulator"}
    bad = [id_ for id_, each in outcomes.items() if not each["expected"]]
    wanted = [(each, recorded_sdks(each, records)) for each in scenarios]
    ran = {id_ for id_, each in outcomes.items() if each["verdict"] != Verdict.NOT_APPLICABLE}
    missing = [id_ for each, sdks in wanted for sdk in sdks if (id_ := each.id_with(sdk)) not in ran]
    for ids, what in ((bad, "have an unexpected outcome"), (missing, "did not run")):
        if ids:
            raise MatrixRecordError(f"{len(ids)} pairs {what}, such as {ids[0]}; only a whole matrix is recorded")
    if content["problem"]:
        raise MatrixRecordError(f"the run ended early: {content['problem']}; only a whole matrix is recorded")
    return {
        "date": content["date"],
        "product": content["product"],
        "outcomes": len(ran),
        "sdks": {recipe.name: recipe.version for recipe in registry.RECIPES},
        "scenarios": {each.id: [digest_of(each, records), *sdks] for each, sdks in wanted},
    }


def text_of(form: Mapping[str, Any]) -> str:
    """Render the file's text, one line for each scenario, so that a change appears as one changed line."""
    rows = ",\n".join(f"  {json.dumps(id_)}: {json.dumps(row)}" for id_, row in form["scenarios"].items())
    head = ",\n".join(f" {json.dumps(name)}: {json.dumps(form[name])}" for name in form if name != "scenarios")
    return f'{{\n{head},\n "scenarios": {{\n{rows}\n }}\n}}\n'


def main(words: Sequence[str] | None = None) -> int:
    """Write the record from a file of `rocketmq-conformance run --json`."""
    [file] = sys.argv[1:] if words is None else words
    try:
        form = form_of(json.loads(Path(file).read_text()), all_scenarios(), RecordedOutcomes())
    except MatrixRecordError as error:
        print(f"matrix: {error}", file=sys.stderr)
        return 1
    FILE.write_text(text_of(form))
    print(f"{FILE.name}: {form['outcomes']} outcomes of {form['date']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
