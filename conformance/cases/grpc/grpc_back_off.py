"""Retry policies of groups: the settings that gRPC consumers receive, and the delays of failed messages."""

from typing import Any

from rocketmq_testkit.emulator.message.names import dlq_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...clients.grpc_response import Failure
from ...context.grpc import GrpcContext
from ...helpers.consumer import GrpcConsumer, attempts, consuming

RETRIES = 3


def _received_policy(consumer: GrpcConsumer) -> Any:
    """Return the retry policy in the response to the consumer's settings, or the failure."""
    t = consumer.t
    settings = t.subscription(consumer.group, {consumer.topic: "*"}, kind=pb.PUSH_CONSUMER)
    response = t.open(t.new("client"), settings).next()
    return response if response is None or isinstance(response, Failure) else response.settings.backoff_policy


def _back_off(policy: pb.RetryPolicy, attempt: int) -> float:
    """Return the seconds that a push consumer waits after an attempt (counted from 1), as SDKs calculate them."""
    if policy.HasField("exponential_backoff"):
        each = policy.exponential_backoff
        grown = each.initial.ToMilliseconds() * each.multiplier ** (attempt - 1)
        return min(grown, each.max.ToMilliseconds()) / 1000
    waits = policy.customized_backoff.next
    return waits[min(attempt, len(waits)) - 1].ToMilliseconds() / 1000


def _note_failures(consumer: GrpcConsumer) -> None:
    """Fail the consumer's message on each delivery, delayed by the group's retry policy, and record each attempt."""
    t = consumer.t
    policy = t.note("received policy", _received_policy(consumer))
    waited = 0.0
    for attempt in range(1, RETRIES + 2):
        watch = t.stopwatch()
        received = consumer.received_at_last(seconds=25)
        t.note(f"attempt {attempt}", attempts(received))
        t.note(f"attempt {attempt} came", watch.between(waited, waited + 15))
        waited = _back_off(policy, attempt)
        t.note(f"attempt {attempt} failed", consumer.change(received.handles[0], waited).status, pb.OK)
    # The status message of an empty response depends on threads: it tells whether the dead letter was read again.
    last = consumer.received_within(seconds=6.2, await_s=6, deadline=12)
    t.note("and then", [last.code, last.bodies])


@grpc_case("CustomizedRetryPolicy.nextDelayDuration")
def a_customized_retry_policy_is_sent_to_consumers(t: GrpcContext) -> None:
    """A group's customized retry policy is sent to its consumers. Each retry counts an attempt until none is left."""
    policy = {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [500, 7000, 1000]}}
    _note_failures(consuming(t, 1, retryMaxTimes=RETRIES, groupRetryPolicy=policy))


@grpc_case("ExponentialRetryPolicy.nextDelayDuration")
def an_exponential_retry_policy_is_sent_to_consumers(t: GrpcContext) -> None:
    """A group's exponential retry policy is sent to its consumers. Each retry counts an attempt until none is left."""
    policy = {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 500, "max": 3000, "multiplier": 4}}
    _note_failures(consuming(t, 1, retryMaxTimes=RETRIES, groupRetryPolicy=policy))


@grpc_case("GrpcClientSettingsManager.mergeSubscriptionData")
def retry_policies_get_defaults_for_missing_but_not_for_invalid_values(t: GrpcContext) -> None:
    """A retry policy without values falls back to upstream's defaults; invalid values are sent unchanged."""
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
        t.note(what, _received_policy(consuming(t, retryMaxTimes=1, groupRetryPolicy=policy)))
    for most in (0, -1, 2**31 - 1):
        t.note(f"retries {most}", _received_policy(consuming(t, retryMaxTimes=most)).max_attempts)


@grpc_case("PopMessageResultFilterImpl.filterMessage")
def the_largest_retry_max_times_sends_messages_to_the_dlq_at_once(t: GrpcContext) -> None:
    """A group with retryMaxTimes 2^31 - 1 receives nothing: all its messages are dead letters at once.

    The number of attempts is one more, which overflows a 32-bit integer.
    """
    for most in (2**31 - 1, -1, 0):
        consumer = consuming(t, 1, retryMaxTimes=most)
        t.note(f"retries {most}", attempts(consumer.received_within()))
        t.note(f"retries {most}: dead letters", _dead_letters(consumer))


def _dead_letters(consumer: GrpcConsumer) -> int:
    queue = {"topic": dlq_topic(consumer.group), "queueId": 0}
    response = consumer.t.request(RequestCode.GET_MAX_OFFSET, queue)
    return int(response.fields.get("offset", 0))
