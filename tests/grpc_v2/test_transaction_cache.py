"""The proxy's open transactions of gRPC producers: they expire, and expired ones do not fill the memory."""

import pytest
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from rocketmq_testkit.grpc_v2.proxy.transaction_cache import _SWEEP_ABOVE, TransactionCache, TransactionData

HALF = TransactionData("broker-a", 0, 0)
CHECKED = TransactionData("broker-a", 1, 1)


def test_expired_entries_are_removed_once_there_are_many() -> None:
    """An entry has expired once its age exceeds transactionDataExpireMillis."""
    config = ProxyConfig()
    expiry_ms = config.transaction_data_expire_millis
    cache = TransactionCache(config)
    for number in range(_SWEEP_ABOVE - 1):
        cache.add("orders", str(number), HALF, 0)
    cache.add("orders", "in its last millisecond", HALF, 1)
    cache.add("orders", "last", HALF, expiry_ms + 1)
    assert len(cache) == 2
    assert cache.pop_newest("orders", "in its last millisecond", expiry_ms + 1) == HALF
    assert cache.pop_newest("orders", "last", expiry_ms + 1) == HALF


def test_entries_behind_a_checked_transaction_are_removed() -> None:
    """A check adds an entry to the first key; those of the other keys, and its own first one, expire before it."""
    config = ProxyConfig()
    expiry_ms = config.transaction_data_expire_millis
    cache = TransactionCache(config)
    for number in range(_SWEEP_ABOVE):
        cache.add("orders", str(number), HALF, 0)
    cache.add("orders", "0", CHECKED, 1)
    cache.add("orders", "last", HALF, expiry_ms + 1)
    assert len(cache) == 2
    assert cache.pop_newest("orders", "0", expiry_ms + 1) == CHECKED


def test_entries_that_have_not_expired_stay() -> None:
    """Also if there are more than the cache usually sweeps."""
    config = ProxyConfig()
    cache = TransactionCache(config)
    for number in range(3 * _SWEEP_ABOVE):
        cache.add("orders", str(number), HALF, 0)
    assert len(cache) == 3 * _SWEEP_ABOVE


@pytest.mark.parametrize(("late_ms", "found"), [(0, CHECKED), (1, None)])
def test_the_newest_entry_ends_a_transaction_until_it_expires(late_ms: int, found: TransactionData | None) -> None:
    """When it has expired, the older entries have, too."""
    config = ProxyConfig()
    cache = TransactionCache(config)
    cache.add("orders", "1", HALF, 0)
    cache.add("orders", "1", CHECKED, 10)
    assert cache.pop_newest("orders", "1", 10 + config.transaction_data_expire_millis + late_ms) == found
    assert len(cache) == (0 if found is None else 1)
