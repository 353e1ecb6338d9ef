"""Values of keys that set something for each thread pool, such as `send=600 pull=50`."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from .keys import ConfigError

P = TypeVar("P")
V = TypeVar("V")
_DIGITS_MAX = 18
"""The most digits of a number of milliseconds."""


def parse_by_pool(
    key: str, text: str, pools: Mapping[str, P], parse: Callable[[str], V], *, placeholder: str, example: str
) -> dict[P, V]:
    """Parse one value for each pool. Raises ConfigError, which names the wrong part.

    `pools` are the pools by their names in the text. `parse` converts one value, or raises ValueError with the reason
    and the allowed values. `placeholder` and `example` (`POOL=VALUE`) are for the error texts.
    """
    known = f"pools are {', '.join(pools)}"
    found = {}
    for word in text.split():
        name, _, value = word.partition("=")
        if not (name and value):
            wrong = f"not POOL={placeholder}; {known}"
        elif name not in pools:
            wrong = f"{name} is no pool; {known}"
        else:
            try:
                found[pools[name]] = parse(value)
                continue
            except ValueError as error:
                wrong = str(error)
        raise ConfigError(f"{key}={word}: {wrong}; use {key}={example}", key=key)
    return found


def parse_times(key: str, text: str, pools: Mapping[str, P], *, example_pool: str) -> dict[P, int]:
    """Parse a time (ms) for each pool. Raises ConfigError, whose example is for `example_pool`."""
    example = f"{example_pool}=600"
    return parse_by_pool(key, text, pools, _milliseconds, placeholder="MILLISECONDS", example=example)


def _milliseconds(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX:
        return int(text)
    raise ValueError(f"{text} is no time; a time is a whole number of milliseconds, from 0")
