"""Counts the objects that only the cycle collector frees."""

import gc
from collections.abc import Callable

ROUNDS = 20


def cyclic_garbage(work: Callable[[], object]) -> int:
    """Return the number of objects that the collector finds after ROUNDS runs of `work`; earlier runs fill caches.

    The collector reads only objects that were made since the call, not those of all tests of the process.
    """
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
        gc.unfreeze()
