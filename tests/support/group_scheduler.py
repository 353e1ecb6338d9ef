"""The scheduler of pytest-xdist, by group, without its work that grows with the number of tests done.

`LoadScopeScheduling` of pytest-xdist 3.8 keeps the finished scopes of each worker, and counts them after each test.
With 17,693 tests it used 27 s of processor time.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has no types

_MARK = re.compile(r'^pytestmark = .*xdist_group\("([\w-]+)"\)', re.MULTILINE)


@cache
def _group_of(file: Path) -> str:
    """Return the group in the first mark of a file, empty if it has none. A file does not change in a run."""
    found = _MARK.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    return found[1] if found else ""


def scope_of(nodeid: str, root: Path) -> str:
    """Return the group in the first mark of a test's file, or the node id if the file has none."""
    return _group_of(root / nodeid.partition("::")[0]) or nodeid


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # its base has no types
    """Distributes tests by `scope_of`."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid, self.config.rootpath)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Mark a test as complete; forget its scope after the last test, and assign the next scope to the worker."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        unit = self.assigned_work[node][scope]
        unit[nodeid] = True
        if all(unit.values()):
            del self.assigned_work[node][scope]
        self._reschedule(node)
