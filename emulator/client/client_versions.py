"""Client versions: numbers in remoting headers, names from gRPC clients. Source: MQVersion (5.3.3)."""

from collections.abc import Iterator
from functools import cache

from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode

VERSION_3_0_7 = 28
"""The number of V3_0_7_SNAPSHOT, the first version whose consumers report and reset offsets on request."""
VERSION_3_1_8 = 62
"""The number of V3_1_8_SNAPSHOT, the first version whose consumers respond to forwarded requests of administrators."""


HIGHER_VERSION = "HIGHER_VERSION"
"""The name of the last number of the table, and of all numbers above it."""


def version_text(version: int) -> str:
    """Return the name of a version number. Raises IndexError for a negative number."""
    names = _names()
    if version < 0:
        raise IndexError(f"Index {version} out of bounds for length {len(names)}")
    return names[version] if version < len(names) else HIGHER_VERSION


def checked_version_text(version: int) -> str:
    """Return the name of a version number. Raises SYSTEM_ERROR for a negative number, for which upstream's table fails.

    Source: MQVersion.getVersionDesc (5.3.3).
    """
    try:
        return version_text(version)
    except IndexError as failure:
        remark = f"java.lang.ArrayIndexOutOfBoundsException: {failure}"
        raise EngineError(ResponseCode.SYSTEM_ERROR, remark) from None


def unsupported(version: int) -> EngineError:
    """Return the refusal of a request that needs clients of a later version. Raises as `checked_version_text`."""
    remark = f"the client does not support this feature. version={checked_version_text(version)}"
    return EngineError(ResponseCode.SYSTEM_ERROR, remark)


def release_of(version: int) -> str:
    """Return the release that a version number names: `5.3.3` for 479. Empty for a number that names none."""
    names = _names()
    return names[version].removeprefix("V").replace("_", ".") if 0 <= version < len(names) else ""


def version_number(name: str) -> int | None:
    """Return the number of a version by its name, in any case: `V5_3_3` is 479. None for other texts."""
    try:
        return _names().index(name.upper())
    except ValueError:
        return None


@cache
def _names() -> tuple[str, ...]:
    """Return the names of all versions. The position of a name is the number of the version."""
    early = ("SNAPSHOT", "ALPHA1", *(f"BETA{number}" for number in range(1, 6)))
    betas = (f"BETA{number}{end}" for number in range(6, 10) for end in ("_SNAPSHOT", ""))
    numbered = (f"V{number}{end}" for number in _numbers() for end in ("_SNAPSHOT", ""))
    return (*(f"V3_0_0_{name}" for name in (*early, *betas, "FINAL")), *numbered, HIGHER_VERSION)


def _numbers() -> Iterator[str]:
    """Yield the versions that have a snapshot and a release in upstream's list, in its order; some never appeared."""
    yield from (f"3_0_{patch}" for patch in range(1, 16))
    for minor in range(1, 10):
        yield from (f"3_{minor}_{patch}" for patch in range(1 if minor > 2 else 0, 10))
    yield from (f"{major}_{minor}_{patch}" for major in (4, 5) for minor in range(10) for patch in range(10))
