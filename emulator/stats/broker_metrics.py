"""Metrics of one run of a broker."""

from dataclasses import KW_ONLY
from typing import Final

from ..kernel.value_class import value
from .metric import Metrics, counter, gauge

BROKER: Final = "broker"
"""The key of these metrics in `Broker.metrics()`, and a part of their names at `/metrics`."""


@value
class BrokerMetrics(Metrics):
    """Counters since the start of the run, and current sizes."""

    messages_stored: int = counter("Messages stored, without those of system topics.")
    messages_delivered: int = counter("Messages delivered, without those of system topics.")
    log_bytes: int = gauge("Bytes of all messages in the commit log.")
    waiting_pulls: int = gauge("Pulls that wait for messages.")
    _: KW_ONLY
    waiting_pops: int = gauge("Pops that wait for messages.")
    waiting_notifications: int = gauge("Notification requests that wait for messages.")
    buffered_check_points: int = gauge("Check points of pops in the merge buffer.")
