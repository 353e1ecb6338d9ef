"""Known security advisories of the packages in pyproject.toml, and the versions that fix them.

    python scripts/advisories.py

prints the advisories that the lower bounds do not exclude. The exit code is 1 if there are any, or if the table is
older than DAYS_MAX. pip-audit needs a service that the build server cannot reach, and packages with advisory data are
years old. The table is therefore kept here. Look each package up in https://osv.dev when you change a bound, and before
a release, and set LOOKED_UP.

Every entry was compared with copies of public advisories and changelogs. They end in October 2026.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOOKED_UP = date(2026, 11, 26)
"""The day of the last look-up of all packages."""
DAYS_MAX = 180
"""The greatest age of the table in days."""


@dataclass(frozen=True, slots=True)
class Advisory:
    """One advisory.

    `unreached` says why this project never runs the vulnerable code; no bound has to exclude it then. `fixed` is the
    first version with the fix, of the oldest series that has one.
    """

    package: str
    name: str
    fixed: str
    what: str
    _: KW_ONLY
    unreached: str = ""


ADVISORIES = (
    Advisory("orjson", "CVE-2024-27454", "3.9.15", "loads of deeply nested JSON overflows the stack"),
    Advisory("orjson", "CVE-2025-67221", "3.11.6", "dumps of deeply nested objects overflows the stack"),
    Advisory("Twisted", "CVE-2022-39348", "22.10", "the name of an unknown virtual host is not escaped"),
    Advisory("Twisted", "CVE-2023-46137", "23.10", "twisted.web answers pipelined requests out of order"),
    Advisory("Twisted", "CVE-2024-41671", "24.7", "twisted.web answers pipelined requests out of order"),
    Advisory("Twisted", "CVE-2024-41810", "24.7", "twisted.web does not escape the target of a redirect"),
    Advisory(
        "Twisted",
        "CVE-2026-42304",
        "26.4",
        "twisted.names expands names without limit",
        unreached="no DNS server is served",
    ),
    Advisory("hpack", "CVE-2026-59980", "4.2.0", "integers of any length are decoded, in quadratic time"),
    Advisory("protobuf", "CVE-2025-4565", "4.25.8", "the pure Python decoder recurses without limit"),
    Advisory(
        "protobuf",
        "CVE-2026-0994",
        "5.29.6",
        "json_format.ParseDict recurses without limit",
        unreached="json_format is not used",
    ),
    Advisory("cryptography", "CVE-2023-49083", "41.0.6", "PKCS7 certificates crash the loader"),
    Advisory("cryptography", "CVE-2023-50782", "42.0.0", "RSA decryption tells by its time whether padding was right"),
    Advisory("cryptography", "CVE-2024-26130", "42.0.4", "a PKCS12 key that does not fit its certificate crashes"),
    Advisory("cryptography", "CVE-2024-12797", "44.0.1", "the OpenSSL in the wheels accepts an unverified raw key"),
    Advisory("cryptography", "CVE-2026-26007", "46.0.5", "points of SECT curves are not checked"),
    Advisory("cryptography", "CVE-2026-34073", "46.0.6", "name constraints are not applied to wildcard names"),
    Advisory("cryptography", "CVE-2026-39892", "46.0.7", "buffers that are not contiguous overflow"),
    Advisory(
        "cryptography",
        "GHSA-537c-gmf6-5ccf",
        "48.0.1",
        "the OpenSSL in the wheels has advisories of its own",
        unreached="certificates are issued with it, nothing that clients send is read",
    ),
    Advisory(
        "cryptography",
        "CVE-2026-69248",
        "49.0.0",
        "wildcard names escape the permitted subtrees",
        unreached="certificates are not verified with it",
    ),
    Advisory(
        "cryptography",
        "CVE-2026-69249",
        "49.0.0",
        "duplicates of an intermediate certificate make the search for a path exponential",
        unreached="certificates are not verified with it",
    ),
    Advisory(
        "cryptography",
        "CVE-2026-69247",
        "50.0.0",
        "PKCS7 decryption tells whether padding was right",
        unreached="nothing is decrypted with PKCS7",
    ),
    Advisory("grpcio", "CVE-2024-7246", "1.65.4", "a misencoded header poisons the HPACK table behind a proxy"),
    Advisory("grpcio", "CVE-2024-11407", "1.66.2", "zero-copy sends corrupt data"),
    Advisory("Jinja2", "CVE-2024-22195", "3.1.3", "the filter xmlattr renders keys with spaces as attributes"),
    Advisory("Jinja2", "CVE-2024-34064", "3.1.4", "the filter xmlattr renders keys with other separators"),
    Advisory("Jinja2", "CVE-2024-56201", "3.1.5", "the name of a template can contain code that runs"),
    Advisory("Jinja2", "CVE-2024-56326", "3.1.5", "a stored str.format escapes the sandbox"),
    Advisory("Jinja2", "CVE-2025-27516", "3.1.6", "the filter attr escapes the sandbox"),
    Advisory("pyarrow", "CVE-2023-47248", "14.0.1", "reading IPC and Parquet files executes code"),
    Advisory("pyarrow", "CVE-2026-25087", "23.0.1", "the IPC file reader uses freed memory"),
    Advisory("pyspark", "CVE-2025-55039", "4.0.0", "RPC is encrypted without authentication"),
    Advisory(
        "uvloop", "CVE-2024-24806", "0.20.0", "the libuv in the wheels cuts long host names before looking them up"
    ),
    Advisory("PyYAML", "CVE-2020-14343", "5.4.0", "a file that is read with full_load runs code"),
    Advisory("anyio", "PVE-2024-71199", "4.4.0", "event loops of several threads crash at their first use"),
    Advisory("pytest", "CVE-2025-71176", "9.0.3", "other users of the machine can foresee temporary folders"),
    Advisory("setuptools", "CVE-2025-47273", "78.1.1", "a downloaded package is written outside of its folder"),
    Advisory(
        "setuptools", "CVE-2026-23949", "80.10.2", "the jaraco.context in it unpacks files outside of their folder"
    ),
    Advisory(
        "setuptools", "CVE-2026-24049", "80.10.2", "the wheel in it changes the mode of files outside of its folder"
    ),
    Advisory("setuptools", "CVE-2026-59890", "83.0.0", "files whose names have accents are packed although excluded"),
)
NONE_KNOWN = (
    "construct",
    "msgspec",
    "prometheus-client",
    "rich",
    "pytest-xdist",
    "hypothesis",
    "build",
    "grpcio-tools",
    "pytest-asyncio",
)
"""Packages whose allowed versions had no advisory at the last look-up."""

_BOUND = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*(>=|==)\s*([0-9][0-9.]*)")


def bounds() -> dict[str, str]:
    """Return the lowest version of each package that pyproject.toml allows, including build requirements."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = content["project"]
    requirements = [*content["build-system"]["requires"], *project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        requirements += extra
    found: dict[str, str] = {}
    for requirement in requirements:
        bound = _BOUND.match(requirement)
        if bound is not None and bound[2] == ">=":
            lowest = found.get(bound[1], bound[3])
            found[bound[1]] = min(lowest, bound[3], key=version)
    return found


def version(text: str) -> tuple[int, ...]:
    """Return a version as comparable numbers; `24.7` equals `24.7.0`."""
    numbers = [int(part) for part in text.split(".")]
    return tuple(numbers + [0] * (4 - len(numbers)))


def left_open(allowed: dict[str, str]) -> Iterator[str]:
    """Yield a sentence for each advisory that affects an allowed version."""
    for each in ADVISORIES:
        if each.package in allowed and not each.unreached and version(allowed[each.package]) < version(each.fixed):
            lowest = allowed[each.package]
            yield f"{each.package}>={lowest} allows {each.name} ({each.what}); raise it to {each.fixed}"


def outdated(today: date, looked_up: date = LOOKED_UP) -> Iterator[str]:
    """Yield a sentence if the last look-up is more than DAYS_MAX days ago, or lies in the future."""
    days = (today - looked_up).days
    renew = "look up each package of pyproject.toml in https://osv.dev, renew ADVISORIES and NONE_KNOWN, and set it"
    if days > DAYS_MAX:
        yield f"LOOKED_UP={looked_up}: {days} days ago; the table may be {DAYS_MAX} days old; {renew} to {today}"
    elif days < 0:
        yield f"LOOKED_UP={looked_up}: after today; a look-up has the date on which it was made; {renew} to {today}"


def main() -> int:
    """Print the advisories that the bounds do not exclude, and a sentence if the table is too old."""
    found = [*left_open(bounds()), *outdated(datetime.now(UTC).date())]
    print("\n".join(found) or f"none of {len(ADVISORIES)} advisories, as of {LOOKED_UP}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
