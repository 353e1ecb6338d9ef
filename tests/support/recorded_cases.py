"""Responses of a real broker, which the conformance suite recorded."""

import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[2] / "conformance" / "recorded" / "5.3.3"


def recorded(file: str, case: str, label: str) -> Any:
    """Return the first value that a case recorded under a label. `file` names its file, such as `disk_full`."""
    seen = json.loads((RECORDED / f"{file}.json").read_text())[case]["seen"]
    return next(value for name, value in seen if name == label)
