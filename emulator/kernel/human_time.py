"""Format a time as in upstream's remarks. Source: UtilAll.timeMillisToHumanString2 (5.3.3)."""

_DAY_MS = 86_400_000
_ERA_DAYS, _TO_ERA_DAYS = 146_097, 719_468
"""Days in 400 years, and days from March 1 of the year 0 to January 1, 1970."""


def human_time(ms: int) -> str:
    """Format milliseconds since 1970 as `2023-11-14 22:13:20,000`, in UTC."""
    days, of_day = divmod(ms, _DAY_MS)
    year, month, day = _date(days)
    seconds, millis = divmod(of_day, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02},{millis:03}"


def _date(days: int) -> tuple[int, int, int]:
    """Return year, month and day. Years start in March here, so that a leap day is the last day of its year."""
    era, of_era = divmod(days + _TO_ERA_DAYS, _ERA_DAYS)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day
