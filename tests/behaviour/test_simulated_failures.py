"""Keys that simulate failures: each changes the results of the clients that it declares, and of no others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from protocol_client import ProtocolClient
from protocol_clients import protocol_client
from rocketmq_testkit.emulator.config import FAULT_KEYS, BrokerConfig
from rocketmq_testkit.fixtures.options.limited_keys import AFFECTED_CLIENTS, AffectedClients, limit_warnings
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig

_DISK_CHECKED_MS = 60_000
_FILE_BYTES = 256 * 1024


def _sends(e: ProtocolClient) -> object:
    """Return the result of a send after the first check of the disk: at once, and a little later."""
    e.topic()
    e.advance(_DISK_CHECKED_MS)
    sending = e.start_send(b"x")
    sent = sending.sent
    e.advance(400)
    return _plain(sent), _plain(sending.sent)


def _three_sends(e: ProtocolClient) -> object:
    """Return the results of three sends that arrive together: when the first one ends, and after a long time."""
    e.topic()
    sendings = [e.start_send(b"x") for _ in range(3)]
    e.advance(600)
    early = [_plain(each.sent) for each in sendings]
    e.advance(5_000)
    return early, [_plain(each.sent) for each in sendings]


def _fills(e: ProtocolClient) -> object:
    """Return the results of sends that fill files, after a check of the disk."""
    e.topic()
    e.advance(_DISK_CHECKED_MS)
    for _ in range(400):
        e.start_send(bytes(10_000))
    e.advance(10_000)
    return _plain(e.start_send(b"x").sent)


def _polls(e: ProtocolClient) -> object:
    """Return the responses of three pops of an empty topic."""
    e.topic()
    pops = [e.pop(poll_ms=20_000) for _ in range(3)]
    return [None if each.response is None else each.response.code for each in pops]


def _routes(e: ProtocolClient) -> object:
    """Return the route of a topic."""
    e.topic()
    return e.route()


def _sends_during_a_shutdown(e: ProtocolClient) -> object:
    """Return the result of a send, to a broker that is stopping if it stops gracefully."""
    e.topic()
    if e.broker.config.enable_shutdown_gracefully:
        e.engine.stop(e.broker)
    return _plain(e.start_send(b"x").sent)


def _plain(sent: Any) -> object:
    return None if sent is None else (sent.ok, sent.code, sent.remark)


@dataclass(frozen=True)
class _Failure:
    """Keys that are set together, the attributes that set them, and requests that observe them."""

    keys: tuple[str, ...]
    settings: Mapping[str, Any]
    observe: Callable[[ProtocolClient], object] = _sends
    otherwise: Mapping[str, Any] = field(default_factory=dict)
    """The settings of the comparison, without the failure."""


_SLOW = {"request_times": "send=600", "grpc_request_times": "producer=600"}
_SMALL: dict[str, object] = {"max_message_size": 16 * 1024, "mapped_file_size_commit_log": _FILE_BYTES}
_SYNC = {"broker_role": "SYNC_MASTER", "in_sync_replicas": 2}
_FAILURES = (
    _Failure(
        ("transientStorePoolEnable", "transientStorePoolSize"),
        {"transient_store_pool_enable": True, "transient_store_pool_size": 0},
    ),
    _Failure(("requestRefusals",), {"request_refusals": "send=OVERLOAD"}),
    _Failure(("requestTimes",), {"request_times": "send=600"}),
    _Failure(("sendMessageThreadPoolNums",), {"send_message_thread_pool_nums": 1, **_SLOW}, _three_sends, _SLOW),
    _Failure(
        ("sendThreadPoolQueueCapacity",),
        {"send_message_thread_pool_nums": 1, "send_thread_pool_queue_capacity": 1, **_SLOW},
        _three_sends,
        {"send_message_thread_pool_nums": 1, **_SLOW},
    ),
    _Failure(
        ("waitTimeMillsInSendQueue",),
        {"send_message_thread_pool_nums": 1, "wait_time_mills_in_send_queue": 1, **_SLOW},
        _three_sends,
        {"send_message_thread_pool_nums": 1, "wait_time_mills_in_send_queue": 60_000, **_SLOW},
    ),
    _Failure(("goAwayEnable",), {"go_away_enable": True}),
    _Failure(("enableShutdownGracefully",), {"enable_shutdown_gracefully": True}, _sends_during_a_shutdown),
    _Failure(("grpcRequestRefusals",), {"grpc_request_refusals": "producer"}),
    _Failure(
        ("flowLimitAnswerEnable",),
        {"grpc_request_refusals": "producer", "flow_limit_answer_enable": True},
        otherwise={"grpc_request_refusals": "producer"},
    ),
    _Failure(("grpcRequestTimes",), {"grpc_request_times": "producer=600"}),
    _Failure(("grpcProducerThreadPoolNums",), {"grpc_producer_thread_pool_nums": 1, **_SLOW}, _three_sends, _SLOW),
    _Failure(("diskUsedRatio",), {"disk_used_ratio": 95}),
    _Failure(("storeDiskBytes",), {"store_disk_bytes": 16 * _FILE_BYTES, **_SMALL}, _fills, _SMALL),
    _Failure(("brokerRole", "inSyncReplicas"), _SYNC),
    _Failure(("slaveTimeout",), {"slave_timeout": 100, **_SYNC}, otherwise=_SYNC),
    _Failure(("flushDiskType", "syncFlushTimeout"), {"flush_disk_type": "SYNC_FLUSH", "sync_flush_timeout": 0}),
    _Failure(("popPollingSize",), {"pop_polling_size": 0}, _polls),
    _Failure(("startAcceptSendRequestTimeStamp",), {"start_accept_send_request_time_stamp": 4_000_000_000_000}),
    _Failure(("brokerPermission",), {"broker_permission": 4}, _routes),
)
_CASES = [pytest.param(each, id=" ".join(each.keys)) for each in _FAILURES]


@pytest.mark.parametrize("failure", _CASES)
def test_a_simulated_failure_changes_requests_of_the_declared_clients_only(failure: _Failure) -> None:
    """The failure changes the results of requests of the declared clients, and of no other clients."""
    changed = {
        name: failure.observe(protocol_client(name, **failure.settings))
        != failure.observe(protocol_client(name, **failure.otherwise))
        for name in ("remoting", "grpc")
    }
    for key in failure.keys:
        affected = AFFECTED_CLIENTS[key]
        assert changed == {
            "remoting": affected is not AffectedClients.GRPC,
            "grpc": affected is not AffectedClients.REMOTING,
        }


@pytest.mark.parametrize("failure", _CASES)
def test_a_failure_of_brokers_that_spares_grpc_clients_is_a_warning(failure: _Failure) -> None:
    """A key of brokers without effect on gRPC clients causes a warning that limits it to remoting clients."""
    configs = BrokerConfig(), ProxyConfig()
    for name, value in failure.settings.items():
        config = next(each for each in configs if hasattr(each, name))
        setattr(config, name, value)
    sentences = limit_warnings([configs[0]], configs[1], {})
    limited = any("remoting clients" in sentence for sentence in sentences)
    spared = {AFFECTED_CLIENTS[key] for key in failure.keys} == {AffectedClients.REMOTING}
    # Keys of single pools have an effect only with requestTimes, which has the warning.
    assert limited is spared or "grpc_request_times" in failure.settings


def test_every_declared_key_of_a_failure_is_observed() -> None:
    """Each key that simulates failures has a declaration of its clients, and a request whose result it changes."""
    observed = [key for failure in _FAILURES for key in failure.keys]
    assert sorted(observed) == sorted(AFFECTED_CLIENTS)
    assert AFFECTED_CLIENTS.keys() >= FAULT_KEYS
    of_proxy = {key for key in AFFECTED_CLIENTS if key in ProxyConfig.attributes()}
    assert of_proxy == {key for key, affected in AFFECTED_CLIENTS.items() if affected is AffectedClients.GRPC}
