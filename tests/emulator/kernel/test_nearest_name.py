"""The nearest existing names of misspelled ones, with bounded work."""

import pytest
from rocketmq_testkit.emulator.kernel import nearest_name
from rocketmq_testkit.emulator.kernel.nearest_name import NAMES_MIN, WORK_MAX, NearestNames


def test_each_of_150_misspelled_names_gets_the_nearest_of_150() -> None:
    known = [f"{number:03}-orders" for number in range(150)]
    names = NearestNames()
    assert [names.of(f"{each[:-2]}sr", known) for each in known] == known
    assert not names.is_exhausted


def test_only_the_first_100_names_are_compared_if_the_work_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first 100 names are compared, whatever that takes. A further one is not if the work exceeds its maximum."""
    compared: list[object] = []
    monkeypatch.setattr(nearest_name, "nearest_of", lambda name, known: compared.append(name))
    names = NearestNames()
    for number in range(300):
        names.of(f"order-{number:03}", ["x" * (WORK_MAX // NAMES_MIN // 9)])
    assert compared == [f"order-{number:03}" for number in range(NAMES_MIN)]
    assert names.is_exhausted


@pytest.mark.parametrize(("known", "least"), [([], 15_000), (["orders"] * 1_000, 200)], ids=["none", "1000"])
def test_the_number_of_compared_names_is_bounded(known: list[str], least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that there is nothing to compare with are bounded as well."""
    monkeypatch.setattr(nearest_name, "nearest_of", lambda _name, _known: "x")
    names = NearestNames()
    compared = sum(names.of("order-1", known) is not None for _ in range(30_000))
    assert least <= compared <= WORK_MAX // 1_000


def test_names_that_are_too_long_take_no_work() -> None:
    names = NearestNames()
    for _ in range(30_000):
        assert names.of("x" * 20_000, ["x" * 19_999]) is None
    assert not names.is_exhausted
    assert names.of("ordres", ["orders"]) == "orders"
