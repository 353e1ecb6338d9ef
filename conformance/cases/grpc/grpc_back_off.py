"""The back-off policy that consumers of the gRPC protocol are told, and what it is to fail messages by it."""

from typing import Any

from rocketmq_testkit.emulator.message.names import dlq_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...worlds.consumer import Consumer, attempts, consuming
from ...worlds.grpc import Grpc
from ...worlds.grpc_answer import Failure

RETRIES = 3


def _told(consumer: Consumer) -> Any:
    """What the consumer's settings are answered: a back-off policy, or the failure."""
    t = consumer.t
    settings = t.subscription(consumer.group, {consumer.topic: "*"}, kind=pb.PUSH_CONSUMER)
    answer = t.open(t.new("client"), settings).next()
    return answer if answer is None or isinstance(answer, Failure) else answer.settings.backoff_policy


def _back_off(policy: pb.RetryPolicy, attempt: int) -> float:
    """How many seconds a push consumer waits after an attempt, counted from 1, as SDKs reckon it."""
    if policy.HasField("exponential_backoff"):
        each = policy.exponential_backoff
        grown = each.initial.ToMilliseconds() * each.multiplier ** (attempt - 1)
        return min(grown, each.max.ToMilliseconds()) / 1000
    waits = policy.customized_backoff.next
    return waits[min(attempt, len(waits)) - 1].ToMilliseconds() / 1000


def _see_failures(consumer: Consumer) -> None:
    """Fail the consumer's message as often as it comes, by the policy that is told, and note each attempt."""
    t = consumer.t
    policy = t.see("told", _told(consumer))
    waited = 0.0
    for attempt in range(1, RETRIES + 2):
        watch = t.stopwatch()
        received = consumer.received_at_last(25)
        t.see(f"attempt {attempt}", attempts(received))
        t.see(f"attempt {attempt} came", watch.between(waited, waited + 15))
        waited = _back_off(policy, attempt)
        t.see(f"attempt {attempt} failed", consumer.change(received.handles[0], waited).status, 20000)
    # Words of an empty answer say whether the dead message was looked at once more, which is a matter of threads.
    last = consumer.received_within(6.2, await_s=6, deadline=12)
    t.see("and then", [last.code, last.bodies])


@grpc_case("CustomizedRetryPolicy.nextDelayDuration")
def a_list_of_times_says_when_to_retry(t: Grpc) -> None:
    """A group's own list of times is told to its consumers; each retry counts an attempt until none is left."""
    policy = {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [500, 7000, 1000]}}
    _see_failures(consuming(t, 1, retryMaxTimes=RETRIES, groupRetryPolicy=policy))


@grpc_case("ExponentialRetryPolicy.nextDelayDuration")
def times_that_grow_say_when_to_retry(t: Grpc) -> None:
    """A group's exponential policy is told to its consumers; each retry counts an attempt until none is left."""
    policy = {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 500, "max": 3000, "multiplier": 4}}
    _see_failures(consuming(t, 1, retryMaxTimes=RETRIES, groupRetryPolicy=policy))


@grpc_case("GrpcClientSettingsManager.mergeSubscriptionData")
def odd_policies_are_told_too(t: Grpc) -> None:
    """A policy without its times falls back on upstream's; times that make no sense are told as they are."""
    policies: dict[str, dict[str, Any]] = {
        "no policy of the type": {"type": "EXPONENTIAL"},
        "no times": {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": []}},
        "no list": {"type": "CUSTOMIZED", "customizedRetryPolicy": {}},
        "negative times": {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [-1000, 0]}},
        "of the other type": {"type": "CUSTOMIZED", "exponentialRetryPolicy": {"initial": 500}},
        "some of three": {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 500}},
        "nothing grows": {
            "type": "EXPONENTIAL",
            "exponentialRetryPolicy": {"initial": 9000, "max": 500, "multiplier": 0},
        },
        "no type": {"customizedRetryPolicy": {"next": [1000]}},
    }
    for what, policy in policies.items():
        t.see(what, _told(consuming(t, retryMaxTimes=1, groupRetryPolicy=policy)))
    for most in (0, -1, 2**31 - 1):
        t.see(f"retries {most}", _told(consuming(t, retryMaxTimes=most)).max_attempts)


@grpc_case("PopMessageResultFilterImpl.filterMessage")
def attempts_without_end_are_none(t: Grpc) -> None:
    """A group with the largest number of retries gets no message: all are dead letters at once.

    The number of attempts is one more, which no int can hold.
    """
    for most in (2**31 - 1, -1, 0):
        consumer = consuming(t, 1, retryMaxTimes=most)
        t.see(f"retries {most}", attempts(consumer.received_within(5.2)))
        t.see(f"retries {most}: dead letters", _dead_letters(consumer))


def _dead_letters(consumer: Consumer) -> int:
    queue = {"topic": dlq_topic(consumer.group), "queueId": 0}
    answer = consumer.t.ask(RequestCode.GET_MAX_OFFSET, queue)
    return int(answer.fields.get("offset", 0))
