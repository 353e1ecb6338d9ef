"""Telemetry of the gRPC proxy: settings that clients send, and the responses."""

from collections.abc import Mapping
from typing import Any

from google.protobuf.duration_pb2 import Duration
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...clients.grpc_response import Failure
from ...context.grpc import BAD_GROUPS, BAD_TOPICS, GrpcContext

_EXPONENTIAL = {"initial": 2000, "max": 60000, "multiplier": 3}


@grpc_case("ClientActivity.processAndWriteClientSettings")
def a_producers_settings_are_returned_with_defaults_filled_in(t: GrpcContext) -> None:
    """A producer gets its settings back with retries, maximum body size and message type validation filled in."""
    t.note("a known topic", _answered(t, t.publishing(t.topic(kind="NORMAL"))))
    t.note("an unknown topic", _answered(t, t.publishing(t.new())).status.code)
    t.note("no topic", _answered(t, t.publishing()).status.code)
    t.note("of a consumer's type", _answered(t, _typed(t.publishing(), pb.SIMPLE_CONSUMER)))


@grpc_case("GrpcClientSettingsManager.mergeSubscriptionData")
def a_consumer_of_a_known_group_gets_the_brokers_settings(t: GrpcContext) -> None:
    """A consumer of an existing group gets the broker's batch size, polling time and retries instead of its own."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    for name, kind in (("simple", pb.SIMPLE_CONSUMER), ("push", pb.PUSH_CONSUMER)):
        t.note(name, _answered(t, t.subscription(group, {topic: "*"}, kind=kind)))
    own = t.subscription(group, {topic: "*"}, fifo=True, receive_batch_size=5, long_polling_timeout=Duration(seconds=7))
    t.note("with values of its own", _subscription(_answered(t, own)))


@grpc_case("GrpcClientSettingsManager.mergeSubscriptionData")
def a_consumer_of_an_unknown_group_keeps_its_settings(t: GrpcContext) -> None:
    """A consumer of an unknown group keeps its own values, and missing ones are filled in."""
    topic = t.topic(kind="NORMAL")
    t.note("without values", _answered(t, t.subscription(t.new("group"), {topic: "*"})))
    own = t.subscription(
        t.new("group"), {topic: "*"}, fifo=True, receive_batch_size=5, long_polling_timeout=Duration(seconds=7)
    )
    t.note("with values of its own", _subscription(_answered(t, own)))
    some = t.subscription(t.new("group"), {topic: "*"}, long_polling_timeout=Duration(seconds=7))
    t.note("with one value of its own", _subscription(_answered(t, some)))


@grpc_case("GrpcClientSettingsManager.mergeSubscriptionData")
def an_ordered_group_overrides_fifo_in_the_settings(t: GrpcContext) -> None:
    """The settings of an ordered group return fifo=true even if the client sent false."""
    topic = t.topic(kind="FIFO")
    in_order, in_any = t.group(consumeMessageOrderly=True), t.group()
    for said in (False, True):
        for name, group in (("group in order", in_order), ("group in any order", in_any)):
            response = _answered(t, t.subscription(group, {topic: "*"}, fifo=said))
            t.note(f"{name}, client {said}", response.settings.subscription.fifo)


@grpc_case("GrpcClientSettingsManager.mergeSubscriptionData")
def settings_return_the_retry_policy_of_the_group(t: GrpcContext) -> None:
    """The settings return the group's retry policy, with one attempt more than the group's retries."""
    topic = t.topic(kind="NORMAL")
    configs: Mapping[str, dict[str, Any]] = {
        "3 retries": {"retryMaxTimes": 3},
        "no retries": {"retryMaxTimes": 0},
        "exponential": {
            "retryMaxTimes": 3,
            "groupRetryPolicy": {"type": "EXPONENTIAL", "exponentialRetryPolicy": _EXPONENTIAL},
        },
        "customized": {
            "retryMaxTimes": 2,
            "groupRetryPolicy": {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000, 2000]}},
        },
    }
    for what, config in configs.items():
        response = _answered(t, t.subscription(t.group(**config), {topic: "*"}))
        t.note(what, response.settings.backoff_policy)


@grpc_case("ClientActivity.telemetry")
def settings_sent_again_get_another_response(t: GrpcContext) -> None:
    """Settings sent again on a stream get another response, and a client may have two streams."""
    client, settings = t.new("client"), t.publishing(t.new())
    first = t.open(client, settings)
    t.note("first", first.next())
    first.settings(settings)
    t.note("again", first.next())
    second = t.open(client, settings)
    t.note("second stream", _status(second.next()))
    first.settings(settings)
    t.note("first stream once more", _status(first.next()))


@grpc_case("ClientActivity.telemetry")
def commands_without_settings_are_not_answered(t: GrpcContext) -> None:
    """An empty command, a status, a server command and unrequested results have no effect."""
    stream = t.open(t.new("client"))
    commands = {
        "nothing": sv.TelemetryCommand(),
        "a status": sv.TelemetryCommand(status=pb.Status(code=pb.OK)),
        "a server's command": sv.TelemetryCommand(
            print_thread_stack_trace_command=sv.PrintThreadStackTraceCommand(nonce="n")
        ),
        "a stack trace": sv.TelemetryCommand(thread_stack_trace=sv.ThreadStackTrace(nonce="n", thread_stack_trace="t")),
        "a verified message": sv.TelemetryCommand(verify_message_result=sv.VerifyMessageResult(nonce="n")),
    }
    for what, command in commands.items():
        stream.send(command)
        stream.settings(t.publishing())
        response = stream.command()
        t.note(f"settings after {what}", [response.WhichOneof("command"), response.status])


@grpc_case("ClientActivity.processAndWriteClientSettings")
def settings_need_publishing_or_subscription(t: GrpcContext) -> None:
    """Settings without publishing or subscription end the stream with INVALID_ARGUMENT."""
    t.note("nothing", _answered(t, pb.Settings()), "INVALID_ARGUMENT")
    t.note("a type only", _answered(t, pb.Settings(client_type=pb.PRODUCER)), "INVALID_ARGUMENT")


@grpc_case("ClientActivity.registerConsumer")
def a_subscription_needs_a_push_or_simple_consumer(t: GrpcContext) -> None:
    """Settings with a subscription but not of a push or simple consumer end the stream with INTERNAL."""
    settings = t.subscription(t.group(), {t.topic(kind="NORMAL"): "*"})
    for name, kind in (
        ("PRODUCER", pb.PRODUCER),
        ("PULL_CONSUMER", pb.PULL_CONSUMER),
        ("0", 0),
        ("5", 5),
        ("6", 6),
        ("99", 99),
    ):
        t.note(name, _answered(t, _typed(settings, kind)), "INTERNAL")


@grpc_case("GrpcValidator.validateTopic")
def bad_topics_of_a_producer_end_the_stream(t: GrpcContext) -> None:
    """Settings that publish to an illegal topic name end the stream with INVALID_ARGUMENT."""
    for what, name in BAD_TOPICS.items():
        t.note(what, _answered(t, t.publishing(name)), "INVALID_ARGUMENT")
    t.note("the second of two", _answered(t, t.publishing(t.topic(kind="NORMAL"), "")), "INVALID_ARGUMENT")


@grpc_case("GrpcValidator.validateConsumerGroup")
def bad_groups_of_a_consumer_end_the_stream(t: GrpcContext) -> None:
    """Settings of an illegal group name end the stream with INVALID_ARGUMENT."""
    topic = t.topic(kind="NORMAL")
    for what, name in BAD_GROUPS.items():
        t.note(what, _answered(t, t.subscription(name, {topic: "*"})), "INVALID_ARGUMENT")


@grpc_case("FilterAPI.build")
def an_empty_sql_or_bar_only_tag_expression_ends_the_stream(t: GrpcContext) -> None:
    """Settings with an empty SQL expression or a tag expression of bars end the stream with INVALID_ARGUMENT."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    t.note("SQL, empty", _answered(t, t.subscription(group, {topic: ""}, filter_type=pb.SQL)), "INVALID_ARGUMENT")
    t.note("TAG, only bars", _answered(t, t.subscription(group, {topic: "||"})), "INVALID_ARGUMENT")


@grpc_case("ClientActivity.registerConsumer")
def settings_accept_unknown_or_illegal_subscribed_topics(t: GrpcContext) -> None:
    """Subscriptions to unknown or illegal topics, with invalid SQL, or none at all are accepted."""
    group, topic = t.group(), t.topic(kind="NORMAL")
    settings = {
        "unknown topic": t.subscription(group, {t.new(): "*"}),
        "impossible topic": t.subscription(group, {"a b": "*"}),
        "none": t.subscription(group, {}),
        "bad SQL": t.subscription(group, {topic: "a >"}, filter_type=pb.SQL),
        "no filter type": t.subscription(group, {topic: "*"}, filter_type=0),
    }
    for what, each in settings.items():
        t.note(what, _status(_answered(t, each)))


@grpc_case("ClientActivity.telemetry")
def a_stream_needs_a_client_id(t: GrpcContext) -> None:
    """A stream without a client id gets CLIENT_ID_REQUIRED as its only command and ends."""
    for what, client in (("none", None), ("empty", ""), ("blank", " ")):
        stream = t.open("nobody", t.publishing(), x_mq_client_id=client)
        t.note(what, stream.next(), pb.CLIENT_ID_REQUIRED)
        t.note(f"{what}, afterwards", stream.next())


@grpc_case("ClientActivity.registerProducer")
def a_stream_needs_a_known_language(t: GrpcContext) -> None:
    """Settings end the stream with INTERNAL if x-mq-language is not a LanguageCode name in upper case.

    The settings of a producer without topics are accepted with any language.
    """
    publishing = t.publishing(t.topic(kind="NORMAL"))
    subscription = t.subscription(t.group(), {t.topic(kind="NORMAL"): "*"})
    for language in (None, "KLINGON", "java"):
        t.note(f"producer, {language}", _answered(t, publishing, x_mq_language=language), "INTERNAL")
        t.note(f"consumer, {language}", _answered(t, subscription, x_mq_language=language), "INTERNAL")
    t.note("HTTP", _status(_answered(t, publishing, x_mq_language="HTTP")))
    t.note("no version", _status(_answered(t, publishing, x_mq_client_version=None)))
    t.note("no topic, KLINGON", _status(_answered(t, t.publishing(), x_mq_language="KLINGON")))


@grpc_case("ClientActivity.telemetry")
def a_stream_ends_when_the_client_half_closes(t: GrpcContext) -> None:
    """The server ends a stream normally once the client has half-closed it."""
    stream = t.open(t.new("client"), t.publishing())
    t.note("settings", _status(stream.next()))
    stream.half_close()
    while isinstance(end := stream.next(), sv.TelemetryCommand):
        pass
    t.note("the end", end)


@grpc_case("ClientActivity.notifyClientTermination")
def a_stream_stays_open_after_client_termination(t: GrpcContext) -> None:
    """After NotifyClientTermination a client's stream stays open, and new settings on it register the client again."""
    client = t.new("client")
    stream = t.open(client, t.publishing(t.topic(kind="NORMAL")))
    t.note("settings", _status(stream.next()))
    t.note("left", t.leave(client), pb.OK)
    t.note("heartbeat", t.heartbeat(client, kind=pb.PRODUCER), pb.UNRECOGNIZED_CLIENT_TYPE)
    stream.settings(t.publishing())
    t.note("settings again", _status(stream.next()))
    t.note("heartbeat again", t.heartbeat(client, kind=pb.PRODUCER), pb.OK)


@grpc_case("GrpcClientSettingsManager.updateClientSettings")
def a_producers_body_size_and_retry_settings_are_overwritten(t: GrpcContext) -> None:
    """A producer's own body size, type validation and retries are overwritten; its request timeout is returned."""
    settings = t.publishing(t.topic(kind="NORMAL"))
    settings.publishing.max_body_size = 10
    settings.publishing.validate_message_type = False
    settings.request_timeout.CopyFrom(Duration(seconds=9))
    settings.backoff_policy.max_attempts = 1
    t.note("response", _answered(t, settings))


def _answered(t: GrpcContext, settings: pb.Settings, **headers: str | None) -> Any:
    return t.open(t.new("client"), settings, **headers).next()


def _subscription(command: sv.TelemetryCommand | Failure | None) -> Any:
    return command.settings.subscription if isinstance(command, sv.TelemetryCommand) else command


def _status(command: sv.TelemetryCommand | Failure | None) -> Any:
    return command.status if isinstance(command, sv.TelemetryCommand) else command


def _typed(settings: pb.Settings, kind: int) -> pb.Settings:
    typed = pb.Settings()
    typed.CopyFrom(settings)
    typed.client_type = kind  # type: ignore[assignment]  # an enum's value, or an invalid one
    return typed
