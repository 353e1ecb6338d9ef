"""All cases and scenarios by id, with what reports say of them."""

from .case import all_cases
from .report.document import Entry
from .scenario import all_scenarios


def entries() -> dict[str, Entry]:
    """Every case and scenario, without the SDK's name for the latter."""
    cases = {
        case.id: Entry(case.noun, case.sentence, case.mark.source, case.mark.protocol.value) for case in all_cases()
    }
    scenarios = {
        each.id: Entry(each.noun, each.sentence, each.mark.source, each.mark.protocol or "") for each in all_scenarios()
    }
    return cases | scenarios
