"""Telemetry streams: settings and their responses, errors, repeated responses, registration, and expired sessions."""

import re
from typing import Any

import pytest
from grpc_harness import GrpcHarness, Stream, a_receive, subscribing
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.emulator.config import ConfigError
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.groups import RetryPolicy
from rocketmq_testkit.grpc_v2.assembly import create_messaging_service
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.rules.java_texts import no_settings

FAILED = "process client telemetryCommand failed. "
LEVELS_S = [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]


def response(stream: Stream) -> pb.Settings:
    """Return the settings of the only response so far."""
    (command,) = stream.commands
    assert (command.status.code, command.status.message) == (20000, "OK")
    assert stream.call.status is None
    return command.settings


@pytest.mark.parametrize("topics", [[], ["T"], ["unknown-1", "unknown-2"]])
def test_a_producer_gets_its_backoff_and_limits(harness: GrpcHarness, topics: list[str]) -> None:
    """A producer gets its settings with attempts, an exponential backoff, the largest body, and an empty metric."""
    settings = publishing(*topics)
    settings.access_point.scheme = pb.IPv4
    settings.access_point.addresses.add(host="127.0.0.1", port=9)
    settings.user_agent.hostname = "vm"
    settings.publishing.max_body_size = 134_217_728
    got = response(harness.client().send_settings(settings))
    expected = pb.Settings()
    expected.CopyFrom(settings)
    expected.backoff_policy.max_attempts = 3
    expected.backoff_policy.exponential_backoff.initial.FromMilliseconds(10)
    expected.backoff_policy.exponential_backoff.max.FromMilliseconds(1_000)
    expected.backoff_policy.exponential_backoff.multiplier = 2
    expected.publishing.max_body_size = 4_194_304
    expected.publishing.validate_message_type = True
    expected.metric.SetInParent()
    assert got == expected


@pytest.mark.parametrize("client_type", [pb.PUSH_CONSUMER, pb.SIMPLE_CONSUMER])
@pytest.mark.parametrize("known", [True, False])
def test_a_consumer_gets_its_backoff_batch_size_and_polling_time(
    harness: GrpcHarness, client_type: int, known: bool
) -> None:
    """A consumer gets 17 attempts, upstream's eighteen delays, batches of 32, and polls of 20 s."""
    if known:
        harness.group()
    settings = subscribing(client_type=client_type)
    got = response(harness.client().send_settings(settings))
    assert got.backoff_policy.max_attempts == 17
    assert [delay.seconds for delay in got.backoff_policy.customized_backoff.next] == LEVELS_S
    subscription = got.subscription
    assert (subscription.fifo, subscription.receive_batch_size) == (False, 32)
    assert subscription.HasField("fifo")
    assert subscription.long_polling_timeout.seconds == 20
    assert subscription.subscriptions == settings.subscription.subscriptions
    assert (got.client_type, subscription.group.name) == (client_type, "G")
    assert got.HasField("metric")
    assert not got.metric.on


def test_the_settings_of_a_known_group_override_those_of_its_client(harness: GrpcHarness) -> None:
    """The settings of a known group override those of its client. For an unknown group the client's values stay."""
    settings = subscribing(fifo=True, poll_s=7)
    got = response(harness.client("before").send_settings(settings)).subscription
    assert (got.fifo, got.long_polling_timeout.seconds, got.receive_batch_size) == (True, 7, 32)
    harness.group()
    got = response(harness.client("after").send_settings(settings)).subscription
    assert (got.fifo, got.long_polling_timeout.seconds, got.receive_batch_size) == (False, 20, 32)


def test_a_client_of_an_ordered_group_gets_fifo_true(harness: GrpcHarness) -> None:
    """A client of an ordered group gets fifo=true, even if it sent false."""
    harness.group(consume_message_orderly=True)
    assert response(harness.client().send_settings(subscribing(fifo=False))).subscription.fifo


@pytest.mark.parametrize(
    ("fields", "attempts", "delays_s"),
    [
        (
            {"retry_max_times": 3, "retry_policy": RetryPolicy("EXPONENTIAL", None, 2_000, 60_000, multiplier=3)},
            4,
            (2, 60, 3),
        ),
        ({"retry_max_times": 2, "retry_policy": RetryPolicy("CUSTOMIZED", [1_000, 2_000])}, 3, [1, 2]),
        ({"retry_max_times": 0}, 1, LEVELS_S),
    ],
)
def test_a_client_gets_the_retry_policy_of_its_group(
    harness: GrpcHarness, fields: dict[str, Any], attempts: int, delays_s: object
) -> None:
    """A client gets its group's retry policy, exponential or a list, with one attempt more than retries."""
    harness.group(**fields)
    policy = response(harness.client().send_settings(subscribing())).backoff_policy
    assert policy.max_attempts == attempts
    if policy.HasField("exponential_backoff"):
        backoff = policy.exponential_backoff
        assert (backoff.initial.seconds, backoff.max.seconds, backoff.multiplier) == delays_s
    else:
        assert [delay.seconds for delay in policy.customized_backoff.next] == delays_s


def test_configuration_keys_shorten_the_backoff_and_polls_of_consumers(harness: GrpcHarness) -> None:
    """Configuration keys shorten the delays and polls that consumers get, even delays of the group's policy."""
    harness.group(retry_policy=RetryPolicy("EXPONENTIAL"))
    harness.config.set("pushedLongPollingTimeoutMillis", "2000")
    harness.config.set("pushedConsumerBackoff", "1s 2m")
    got = response(harness.client().send_settings(subscribing()))
    assert got.subscription.long_polling_timeout.seconds == 2
    assert [delay.seconds for delay in got.backoff_policy.customized_backoff.next] == [1, 120]


def test_each_settings_command_gets_a_response(harness: GrpcHarness) -> None:
    """Each settings command gets a response, also a repeated one and one on a second stream."""
    client = harness.client()
    first = client.send_settings(publishing("T"))
    first.send(sv.TelemetryCommand(settings=publishing("T", "U")))
    assert [len(command.settings.publishing.topics) for command in first.commands] == [1, 2]
    second = client.send_settings(publishing("T"))
    assert len(second.commands) == 1
    assert first.call.status is None
    assert second.call.status is None


def test_the_response_to_the_first_settings_of_a_stream_is_repeated(harness: GrpcHarness) -> None:
    """The response to the first settings of a stream is repeated, with the values at the time of the repetition."""
    stream = harness.client().send_settings(publishing("T"))
    harness.advance(99)
    assert len(stream.commands) == 1
    harness.advance(1)
    assert len(stream.commands) == 2
    assert stream.commands[0] == stream.commands[1]
    stream.send(sv.TelemetryCommand(settings=publishing("T", "U")))
    assert len(stream.commands) == 3
    harness.advance(60_000)
    assert [len(command.settings.publishing.topics) for command in stream.commands] == [1, 1, 2, 2, 2]


def test_a_stream_that_has_ended_gets_no_more_responses(harness: GrpcHarness) -> None:
    """A stream that has ended gets no repeated responses, nor does a stream without configured times."""
    stream = harness.client().send_settings(publishing("T"))
    stream.half_close()
    harness.config.settings_push_again_millis = ""
    other = harness.client("other").send_settings(publishing("T"))
    harness.advance(10_000)
    assert (len(stream.commands), len(other.commands), harness.log) == (1, 1, [])


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("settingsPushAgainMillis", "1s", "settingsPushAgainMillis=1s: '1s' is not a time in milliseconds"),
        ("pushedConsumerBackoff", "1s 5", "pushedConsumerBackoff=1s 5: '5' is not a delay such as 5s or 10m"),
    ],
)
def test_an_invalid_list_in_the_configuration_raises_config_error_at_the_start(
    name: str, value: str, text: str
) -> None:
    config = ProxyConfig()
    config.set(name, value)
    with pytest.raises(ConfigError, match=re.escape(text)):
        create_messaging_service(engine=Engine(), endpoint=lambda *_: ("", 0), config=config, log=print)


@pytest.mark.parametrize(
    "command",
    [
        sv.TelemetryCommand(),
        sv.TelemetryCommand(status=pb.Status(code=pb.OK)),
        sv.TelemetryCommand(verify_message_command=sv.VerifyMessageCommand(nonce="1")),
        sv.TelemetryCommand(thread_stack_trace=sv.ThreadStackTrace(nonce="9")),
        sv.TelemetryCommand(verify_message_result=sv.VerifyMessageResult(nonce="9")),
    ],
)
def test_other_telemetry_commands_are_ignored(harness: GrpcHarness, command: sv.TelemetryCommand) -> None:
    """Other commands are ignored, and the stream stays open."""
    stream = harness.client().telemetry(command)
    assert (stream.commands, stream.call.status) == ([], None)


@pytest.mark.parametrize(
    ("settings", "status", "text"),
    [
        (pb.Settings(), 3, "there is no publishing or subscription data in settings"),
        (pb.Settings(client_type=pb.PRODUCER), 3, "there is no publishing or subscription data in settings"),
        (subscribing(client_type=pb.PRODUCER), 13, FAILED + "Client type is not consumer, type: PRODUCER"),
        (subscribing(client_type=pb.PULL_CONSUMER), 13, FAILED + "Client type is not consumer, type: PULL_CONSUMER"),
        (subscribing(client_type=0), 13, FAILED + "Client type is not consumer, type: CLIENT_TYPE_UNSPECIFIED"),
        (subscribing(client_type=5), 13, FAILED + "Client type is not consumer, type: UNRECOGNIZED"),
        (subscribing(client_type=99), 13, FAILED + "Client type is not consumer, type: UNRECOGNIZED"),
        (subscribing(filter_type=pb.SQL, expression=""), 3, FAILED + "expression format is not correct"),
        (subscribing(expression="||"), 3, FAILED + "expression format is not correct"),
    ],
)
def test_invalid_settings_end_the_stream(harness: GrpcHarness, settings: pb.Settings, status: int, text: str) -> None:
    """Invalid settings end the stream with upstream's gRPC status and text, without a session."""
    call = harness.client().send_settings(settings).call
    assert (call.status, call.text, call.sent) == (status, text, [])
    assert len(harness.service.clients.sessions) == 0


@pytest.mark.parametrize(
    "settings",
    [
        publishing("T", client_type=pb.SIMPLE_CONSUMER),
        subscribing(topic="a b"),
        subscribing(topic=None),
        subscribing(topic="unknown"),
        subscribing(filter_type=pb.SQL, expression="a >"),
        subscribing(filter_type=0),
    ],
)
def test_settings_with_unusual_types_topics_or_expressions_are_accepted(
    harness: GrpcHarness, settings: pb.Settings
) -> None:
    """Any type of a producer, and any topics and expressions of a consumer, are accepted."""
    response(harness.client().send_settings(settings))


@pytest.mark.parametrize("language", ["", "KLINGON", "java"])
@pytest.mark.parametrize("settings", [publishing("T"), subscribing()])
def test_an_unknown_language_ends_the_stream(harness: GrpcHarness, language: str, settings: pb.Settings) -> None:
    """An unknown language ends the stream, except for a producer without topics. Names are case-sensitive."""
    client = harness.client()
    call = client.send_settings(settings, x_mq_language=language).call
    text = f"{FAILED}No enum constant org.apache.rocketmq.remoting.protocol.LanguageCode.{language}"
    assert (call.status, call.text) == (13, text)
    response(client.send_settings(publishing(), x_mq_language=language))


@pytest.mark.parametrize("language", ["JAVA", "HTTP", "GO", "PYTHON", "RUST", "NODE_JS"])
def test_languages_of_the_sdks_are_known(harness: GrpcHarness, language: str) -> None:
    """The languages of the SDKs are valid. Node.js uses HTTP."""
    response(harness.client().send_settings(subscribing(), x_mq_language=language))


def test_a_half_close_ends_the_stream_with_ok(harness: GrpcHarness) -> None:
    """A half-close ends the stream with OK, and the session continues."""
    stream = harness.client("c").send_settings(subscribing())
    stream.half_close()
    assert stream.call.status == 0
    assert harness.service.clients.sessions.find("c") is not None


def test_a_consumer_is_registered_with_its_subscriptions(harness: GrpcHarness) -> None:
    """A consumer is registered on every broker by its client id, without creating its group or a retry topic."""
    harness.consumer("c", push=True)
    registered = harness.broker.clients.consumers["G"]
    assert registered.client_ids() == ["c"]
    assert (registered.consume_type, registered.message_model) == ("CONSUME_PASSIVELY", "CLUSTERING")
    assert list(registered.subscriptions) == ["T"]
    assert harness.broker.groups.find("G") is None
    assert harness.broker.topics.find("%RETRY%G") is None


def test_a_producer_is_registered_in_the_groups_named_like_its_topics(harness: GrpcHarness) -> None:
    """A producer is registered in the groups named like its topics, each once."""
    harness.producer("p", "T", "U", "T")
    assert sorted(harness.broker.clients.producers) == ["T", "U"]


def test_a_silent_client_without_a_stream_expires_after_130_s(harness: GrpcHarness) -> None:
    """A client without a stream expires 130 s after its last heartbeat. With an open stream it does not."""
    quiet, open_one = harness.client("quiet"), harness.client("open")
    quiet.send_settings(subscribing()).call.cancel()
    stream = open_one.send_settings(subscribing())
    harness.advance(100_000)
    quiet.ask("Heartbeat", sv.HeartbeatRequest(group=pb.Resource(name="G")))
    harness.advance(129_999)
    sessions = harness.service.clients.sessions
    assert sessions.find("quiet") is not None
    harness.advance(1)
    assert sessions.find("quiet") is None
    assert sessions.find("open") is not None
    stream.call.cancel()
    harness.advance(130_001)
    assert len(sessions) == 0


def test_with_the_defect_the_settings_of_a_consumer_expire_despite_its_open_stream(harness: GrpcHarness) -> None:
    """Heartbeats prevent the expiry, a producer's settings never expire, and the stream accepts new settings."""
    harness.engine.defects.enable("settings_expire_with_open_stream")
    harness.engine.defects.enable("receive_needs_settings")
    harness.topic()
    harness.producer("producer")
    consumer = harness.client("consumer")
    stream = consumer.send_settings(subscribing())
    for _ in range(3):
        harness.advance(100_000)
        assert consumer.ask("Heartbeat", sv.HeartbeatRequest(group=pb.Resource(name="G"))).status.code == pb.OK
    harness.advance(130_000)
    sessions = harness.service.clients.sessions
    assert [sessions.find(name) is not None for name in ("producer", "consumer")] == [True, False]
    status = consumer.receive(a_receive()).status
    assert (status.code, status.message) == (50001, no_settings())
    stream.send(sv.TelemetryCommand(settings=subscribing()))
    assert not consumer.receive(a_receive()).responses
    harness.engine.defects.release("settings_expire_with_open_stream")
    harness.advance(200_000)
    assert sessions.find("consumer") is not None


def test_receives_do_not_keep_a_session_alive(harness: GrpcHarness) -> None:
    """Receives do not keep a session alive: a client without a stream expires like a silent one."""
    harness.topic()
    client = harness.client()
    client.send_settings(subscribing()).call.cancel()
    for _ in range(13):
        client.receive(a_receive())
        harness.advance(10_000)
    assert len(harness.service.clients.sessions) == 0


def test_a_closed_service_leaves_no_timer_and_no_session(harness: GrpcHarness) -> None:
    harness.client().send_settings(subscribing()).call.cancel()
    harness.service.close()
    assert [timer.kind for timer in harness.engine.scheduler.scheduled() if timer.kind == "grpc session"] == []
    assert len(harness.service.clients.sessions) == 0


def test_a_poll_continues_after_its_clients_stream_closed(harness: GrpcHarness) -> None:
    """A poll continues after its client's stream closed, because the two may use different connections."""
    harness.topic()
    client = harness.client()
    stream = client.send_settings(subscribing())
    received = client.receive(a_receive())
    stream.call.cancel()
    harness.advance(5_000)
    assert received.status.code == 40401
