"""All cases and scenarios by id, with what reports say of them."""

from .case import all_cases
from .report.document import Entry


def entries() -> dict[str, Entry]:
    """Every case and scenario, without the SDK's name for the latter."""
    return {
        case.id: Entry(case.noun, case.sentence, case.mark.source, case.mark.protocol.value) for case in all_cases()
    }
