"""The format of times in remarks."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.kernel.human_time import human_time

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_is_formatted_as_by_the_standard_library(at: datetime) -> None:
    """Every time in four-digit years is formatted as the standard library does."""
    ms = (at - EPOCH) // timedelta(milliseconds=1)
    assert human_time(ms) == f"{at.year:04}-{at:%m-%d %H:%M:%S},{ms % 1000:03}"


def test_leap_days_are_formatted_by_the_gregorian_rule() -> None:
    """Leap days are every fourth year, except every hundredth, except every four hundredth."""
    for text in ("2000-02-29 00:00:00,000", "2024-02-29 23:59:59,999", "2100-03-01 00:00:00,000"):
        at = datetime.strptime(text + "+0000", "%Y-%m-%d %H:%M:%S,%f%z")
        assert human_time((at - EPOCH) // timedelta(milliseconds=1)) == text
