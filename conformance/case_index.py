"""All cases and scenarios by id, with the fields that reports show of them."""

from .discovery import all_cases, all_scenarios
from .report.document import Entry


def entries() -> dict[str, Entry]:
    """Return every case and scenario by id. Outcomes of scenarios have this id with an SDK: `noun.name@sdk`."""
    cases = {
        case.id: Entry(case.noun, case.sentence, case.mark.source, case.mark.protocol.value) for case in all_cases()
    }
    scenarios = {
        each.id: Entry(each.noun, each.sentence, each.mark.source, each.mark.protocol or "") for each in all_scenarios()
    }
    return cases | scenarios
