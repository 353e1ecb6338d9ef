"""The proxy's open transactions of gRPC producers: they expire, and expired ones do not fill the memory."""

from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from rocketmq_testkit.grpc_v2.proxy.transaction_cache import _SWEEP_ABOVE, TransactionCache, TransactionData

HALF = TransactionData("broker-a", 0, 0)


def test_expired_entries_are_removed_once_there_are_many() -> None:
    """An entry has expired once its age equals transactionDataExpireMillis."""
    config = ProxyConfig()
    cache = TransactionCache(config)
    for number in range(_SWEEP_ABOVE):
        cache.add("orders", str(number), HALF, 0)
    cache.add("orders", "last", HALF, config.transaction_data_expire_millis)
    assert len(cache) == 1
    assert cache.pop_newest("orders", "last", config.transaction_data_expire_millis) == HALF
