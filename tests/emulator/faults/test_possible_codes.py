"""The table of codes with which the engine can reject an operation, compared with the engine's source code."""

import possible_codes as search
import pytest
from rocketmq_testkit.emulator.faults.possible_codes import COMMON, POSSIBLE, codes_of

_WIDTH = 120


def _row(name: str, codes: list[str]) -> str:
    line = f'    "{name}": "{" ".join(codes)}",'
    if len(line) <= _WIDTH:
        return line
    lines, current = [f'    "{name}": ('], ""
    for code in codes:
        if len(f'        "{current}{code} "') > _WIDTH:
            lines.append(f'        "{current}"')
            current = ""
        current += f"{code} "
    return "\n".join([*lines, f'        "{current.rstrip()}"', "    ),"])


@pytest.mark.pure
def test_the_table_has_the_codes_that_the_source_of_each_operation_names() -> None:
    """A failure prints the new table, which is to be copied into emulator/faults/possible_codes.py."""
    found = {kind.__name__: sorted(code.name for code in codes) for kind, codes in search.possible_codes().items()}
    rows = {name: codes for name, codes in sorted(found.items()) if codes}
    table = {name: sorted(codes.split()) for name, codes in POSSIBLE.items()}
    new = "\n".join(_row(name, codes) for name, codes in rows.items())
    assert table == rows, f"POSSIBLE: Mapping[str, str] = {{\n{new}\n}}"
    assert list(POSSIBLE) == sorted(POSSIBLE)


def test_each_operation_has_the_codes_of_all_operations_and_its_own() -> None:
    """SUCCESS is no rejection, even if the source names it."""
    assert set(codes_of("GetBrokerConfig")) == COMMON
    assert set(codes_of("PopMessage")) >= {"POLLING_FULL", "TOPIC_NOT_EXIST", *COMMON}
    assert codes_of("PopMessage")["TOPIC_NOT_EXIST"] == 17
    assert not any("SUCCESS" in codes_of(name) for name in POSSIBLE)
