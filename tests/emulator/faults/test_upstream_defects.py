"""The table of upstream's defects, by version and by case."""

import pytest
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.upstream_defects import UPSTREAM_DEFECTS, VERSIONS, defects_of, needed_for


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_has_its_defects_in_the_order_of_their_names(version: str) -> None:
    names = [each.name for each in defects_of(version)]
    assert names == sorted(name for name, each in UPSTREAM_DEFECTS.items() if version in each.versions)
    assert names


def test_an_unknown_version_raises_fault_error_with_the_nearest_one() -> None:
    with pytest.raises(FaultError, match=r"^version='5.3': there is no such version; did you mean 5\.3\.3\?$"):
        defects_of("5.3")


def test_the_defects_of_a_conformance_case_are_all_that_name_it() -> None:
    for name, each in UPSTREAM_DEFECTS.items():
        for case in each.shown_by:
            assert name in {needed.name for needed in needed_for(case)}
    assert needed_for("no.such_case") == []
