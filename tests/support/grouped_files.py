"""Distribution of tests to workers: one worker runs all tests of a file that is marked with `xdist_group`.

pytest-xdist 3.8 appends groups to node ids, which pytest 9.2 no longer reads. It would distribute each test alone, and
each worker would make the fixtures of a file again, without a warning.
"""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

_MARK = re.compile(r'^pytestmark = .*xdist_group\("([\w-]+)"\)', re.MULTILINE)


def scope_of(nodeid: str, root: Path) -> str:
    """Return the group in the first mark of a test's file, or the node id if the file has none."""
    file = root / nodeid.partition("::")[0]
    found = _MARK.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    return found[1] if found else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distribute by scope with `--dist loadgroup`, and as usual otherwise."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has no types

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = partial(scope_of, root=config.rootpath)
    return scheduler
