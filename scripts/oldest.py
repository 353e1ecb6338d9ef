"""Prints the oldest versions that pyproject.toml allows, as pip constraints: `Twisted>=22.10` becomes `Twisted==22.10`.

    python scripts/oldest.py [EXTRA ...]

Without arguments only the runtime dependencies are printed. Requirements with an exact version are left out.
"""

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LOWER_BOUND = re.compile(r"^([A-Za-z0-9._-]+)\s*>=\s*([0-9][0-9a-zA-Z.]*)")


def oldest(requirements: Iterable[str]) -> list[str]:
    """Return one constraint for each requirement with a lower bound.

    Raises ValueError for a requirement without any bound.
    """
    found = []
    for requirement in requirements:
        if "==" in requirement:
            continue
        bound = _LOWER_BOUND.match(requirement)
        if bound is None:
            raise ValueError(f"{requirement!r} has no lower bound")
        found.append(f"{bound[1]}=={bound[2]}")
    return found


def of_project(*extras: str) -> list[str]:
    """Return the constraints of the runtime dependencies and of the named extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = list(project["dependencies"])
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    return oldest(requirements)


def main(extras: list[str]) -> int:
    """Print the constraints."""
    print("\n".join(of_project(*extras)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
