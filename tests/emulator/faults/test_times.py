"""Random and fixed delays of faults."""

from statistics import mean, pstdev

import pytest
from rocketmq_testkit.emulator.faults.times import drawn_ms, ms_of
from rocketmq_testkit.emulator.kernel.random_streams import RandomStream


@pytest.mark.parametrize(("text", "ms"), [("0ms", 0), ("200ms", 200), ("11s", 11_000), ("2m", 120_000)])
def test_a_delay_without_jitter_is_fixed_and_draws_no_random_number(text: str, ms: int) -> None:
    chance = RandomStream(1)
    before = chance.state
    assert (ms_of(text), drawn_ms(chance, text, None, "uniform"), chance.state) == (ms, ms, before)


@pytest.mark.parametrize(("distribution", "deviation"), [("uniform", 57.7), ("normal", 100.0)])
def test_jitter_has_its_mean_and_standard_deviation(distribution: str, deviation: float) -> None:
    """The standard deviation of a jitter of 100 ms is 100/sqrt(3) ms if uniform, and 100 ms if normal."""
    chance = RandomStream(1)
    drawn = [drawn_ms(chance, "1s", "100ms", distribution) for _ in range(5_000)]
    assert mean(drawn) == pytest.approx(1_000, abs=5)
    assert pstdev(drawn) == pytest.approx(deviation, rel=0.05)
    if distribution == "uniform":
        assert min(drawn) >= 900
        assert max(drawn) <= 1_100


def test_a_delay_is_never_negative() -> None:
    """Negative results of a jitter that is larger than the delay become 0."""
    chance = RandomStream(1)
    assert min(drawn_ms(chance, "10ms", "1s", "normal") for _ in range(100)) == 0
