"""Counts the objects that only the cycle collector frees."""

import gc
from collections.abc import Callable

ROUNDS = 20


def cyclic_garbage(work: Callable[[], object]) -> int:
    """Return the number of objects that the collector finds after ROUNDS runs of `work`; earlier runs fill caches.

    The collector reads only objects that were made since the call, not those of all tests of the process. Workers of
    pytest-xdist have excluded those already (`frozen_collection.py`), and would examine them again after an unfreeze.
    """
    freezes = not gc.get_freeze_count()
    if freezes:
        gc.freeze()
    try:
        for _ in range(10):
            work()
        gc.collect()
        gc.disable()
        for _ in range(ROUNDS):
            work()
        return gc.collect()
    finally:
        gc.enable()
        if freezes:
            gc.unfreeze()
