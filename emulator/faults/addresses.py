"""Addresses of clients in rules: IP addresses without port, patterns of them, and `localhost`."""

import re
from collections.abc import Sequence

from .errors import FaultError, shown
from .patterns import matches_pattern

LOCALHOST = "localhost"
_LOOPBACK = ("127.0.0.1", "::1")
_PATTERN = re.compile(r"[0-9a-fA-F.:]*\*[0-9a-fA-F.:*]*")


def check_address(name: str, value: object) -> None:
    """Raise FaultError unless a value is an IP address without port, a pattern such as `10.0.*`, or `localhost`."""
    if not isinstance(value, str) or not (value == LOCALHOST or _PATTERN.fullmatch(value) or _plain(value)):
        raise FaultError(
            f"{name}={shown(value)}: neither an IP address without port nor a pattern of one; use {_like(value)!r}"
        )


def matches_address(address: str, wanted: str | Sequence[str]) -> bool:
    """True if a client's address equals one of the wanted (checked) addresses or matches one of their patterns."""
    if not isinstance(wanted, str):
        return any(matches_address(address, each) for each in wanted)
    if wanted == LOCALHOST:
        return address in _LOOPBACK
    return matches_pattern(address, wanted) if "*" in wanted else address in {wanted, _plain(wanted)}


def _plain(text: str) -> str | None:
    """Return an IP address in its shortest form, None for other texts."""
    from ipaddress import ip_address  # not at the start: most runs have no rule about addresses

    try:
        return str(ip_address(text))
    except ValueError:
        return None


def _like(value: object) -> str:
    """Return the address in a wrong value such as `10.0.0.1:8081`, or an example."""
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    host = host.removeprefix("[").removesuffix("]")
    return host if port.isdecimal() and (host == LOCALHOST or _plain(host)) else "10.0.0.7"
