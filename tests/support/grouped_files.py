"""Distribution of tests to workers: one worker runs all tests of a file that is marked with `xdist_group`.

pytest-xdist 3.8 appends groups to node ids, which pytest 9.2 no longer reads. It would distribute each test alone, and
each worker would make the fixtures of a file again, without a warning.
"""

from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distribute by scope with `--dist loadgroup`, and as usual otherwise."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from group_scheduler import GroupScheduling  # imports pytest-xdist, which runs without workers do not need

    return GroupScheduling(config, log)
