"""A hook that excludes the collected tests from the passes of Python's garbage collector.

The modules and items of all tests are half a million objects, which live to the end of the run. A full pass over them
takes 0.3 s of processor time, and 243 tests with explicit passes used 28 s instead of 11 s.
"""

import gc

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Freeze all objects in workers of pytest-xdist. In other runs `gc.get_objects` returns functions as usual."""
    if hasattr(session.config, "workerinput"):
        gc.collect()
        gc.freeze()
