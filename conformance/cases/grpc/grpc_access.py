"""Authentication and authorization of calls to the proxy."""

from google.protobuf.message import Message
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import Credentials
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...json_text import dumps
from ...settings import GUARDED, REMEMBERING
from ...worlds.accounts import SECRET, entry, give, signed, user
from ...worlds.authorization import DATE_TIME, authorization
from ...worlds.grpc import Grpc

ALL = entry("*", "All")
UNAUTHORIZED = pb.UNAUTHORIZED


def named(name: str) -> pb.Resource:
    """Return the resource of a topic or a group."""
    return pb.Resource(name=name)


@grpc_case("DefaultAuthenticationHandler.doAuthenticate", settings=GUARDED)
def a_call_is_signed_by_somebody(t: Grpc) -> None:
    """A call must be signed by an existing, enabled user with its own password.

    Any other signature is UNAUTHORIZED with a reason.
    """
    topic, ann = t.topic(kind="NORMAL"), user(t, ALL)
    t.see("own secret", t.route(topic, **signed(ann)), pb.OK)
    t.see("super", t.route(topic), pb.OK)
    t.see("a token beside", t.route(topic, **signed(Credentials(ann.access_key, SECRET, "token"))), pb.OK)
    t.see("nobody", t.route(topic, **signed(None)), UNAUTHORIZED)
    t.see("another secret", t.route(topic, **signed(Credentials(ann.access_key, "other"))), UNAUTHORIZED)
    t.see("a stranger", t.route(topic, **signed(Credentials(t.new("user"), SECRET))), UNAUTHORIZED)
    t.see("no client, nobody", t.route(topic, client=None, **signed(None)), UNAUTHORIZED)
    t.see("no client", t.route(topic, client=None), pb.CLIENT_ID_REQUIRED)
    t.see("no topic, nobody", t.route("", **signed(None)), UNAUTHORIZED)
    t.see("no topic", t.route(""))
    t.see("listed, nobody", t.assignment(topic, t.new("group"), **signed(None)))
    name = {"username": ann.access_key}
    t.ask(RequestCode.AUTH_UPDATE_USER, name, dumps({"userStatus": "disable"}))
    t.see("disabled", t.route(topic, **signed(ann)), UNAUTHORIZED)
    t.ask(RequestCode.AUTH_DELETE_USER, name)
    t.see("deleted", t.route(topic, **signed(ann)), UNAUTHORIZED)


@grpc_case("DefaultAuthenticationContextBuilder.build", settings=GUARDED)
def a_header_says_who_has_signed(t: Grpc) -> None:
    """The parts of the authorization header may come in any order, with further parts.

    A malformed header is rejected with a reason.
    """
    topic, ann = t.topic(kind="NORMAL"), user(t, ALL)
    headers = authorization(ann)
    moment, text = headers[DATE_TIME], headers["authorization"]
    scheme, _, rest = text.partition(" ")
    who, what, proof = rest.split(", ")
    lower = proof.partition("=")[0] + "=" + proof.partition("=")[2].lower()

    def see(label: str, text: str | None, moment: str | None = moment) -> None:
        t.see(label, t.route(topic, authorization=text, x_mq_date_time=moment))

    see("as clients do", text)
    see("turned round", f"{scheme} {proof},{what} , {who}")
    see("another scheme", f"Basic {rest}")
    see("small digits", f"{scheme} {who}, {what}, {lower}")
    see("more parts", f"{scheme} {who}, a=b, {proof}, c=")
    see("with region and service", f"{scheme} {who}/region/RocketMQ, {what}, {proof}")
    see("a comma at the end", f"{scheme} {who}, {what}, {proof},,")
    see("no date", text, None)
    see("an empty date", text, "")
    see("another date", text, moment[:-2] + "9Z" if moment[-2] != "9" else moment[:-2] + "8Z")
    see("a date of any form", _signed_over(ann, "yesterday"), "yesterday")
    see("no parts", scheme)
    see("blank parts", f"{scheme} ")
    see("a part without a value", f"{scheme} {who}, x, {proof}")
    see("an empty part", f"{scheme} {who}, , {proof}")
    see("no user", f"{scheme} {what}, {proof}")
    see("an empty user", f"{scheme} Credential=, {proof}")
    see("slashes for a user", f"{scheme} Credential=//, {proof}")
    see("no signature", f"{scheme} {who}, {what}")
    see("no digits", f"{scheme} {who}, Signature=xyz")
    see("an odd number of digits", f"{scheme} {who}, {proof}A")
    see("an empty signature", f"{scheme} {who}, Signature=")
    see("empty", "")


def _signed_over(credentials: Credentials, moment: str) -> str:
    return authorization(credentials, moment)["authorization"]


def requests(t: Grpc, topic: str, group: str) -> dict[str, tuple[str, Message]]:
    """Return a request of each RPC that names a topic and a group."""
    message = t.message(topic)
    return {
        "route": ("QueryRoute", sv.QueryRouteRequest(topic=named(topic), endpoints=t.endpoints())),
        "assignment": (
            "QueryAssignment",
            sv.QueryAssignmentRequest(topic=named(topic), group=named(group), endpoints=t.endpoints()),
        ),
        "send": ("SendMessage", sv.SendMessageRequest(messages=[message])),
        "recall": ("RecallMessage", sv.RecallMessageRequest(topic=named(topic), recall_handle="x")),
        "end": (
            "EndTransaction",
            sv.EndTransactionRequest(topic=named(topic), message_id="m", transaction_id="t", resolution=pb.COMMIT),
        ),
        "producer's heartbeat": ("Heartbeat", sv.HeartbeatRequest(client_type=pb.PRODUCER)),
        "heartbeat": ("Heartbeat", sv.HeartbeatRequest(client_type=pb.SIMPLE_CONSUMER, group=named(group))),
        "push consumer's heartbeat": (
            "Heartbeat",
            sv.HeartbeatRequest(client_type=pb.PUSH_CONSUMER, group=named(group)),
        ),
        "ack": (
            "AckMessage",
            sv.AckMessageRequest(
                topic=named(topic), group=named(group), entries=[sv.AckMessageEntry(message_id="m", receipt_handle="x")]
            ),
        ),
        "change": (
            "ChangeInvisibleDuration",
            sv.ChangeInvisibleDurationRequest(topic=named(topic), group=named(group), receipt_handle="x"),
        ),
        "forward": (
            "ForwardMessageToDeadLetterQueue",
            sv.ForwardMessageToDeadLetterQueueRequest(topic=named(topic), group=named(group), receipt_handle="x"),
        ),
        "producer leaves": ("NotifyClientTermination", sv.NotifyClientTerminationRequest()),
        "consumer leaves": ("NotifyClientTermination", sv.NotifyClientTerminationRequest(group=named(group))),
    }


@grpc_case("DefaultAuthorizationContextBuilder.build", settings=GUARDED)
def each_call_needs_something_else(t: Grpc) -> None:
    """Each RPC requires rights on topics, groups or both. Without them the response names the first missing right."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    none = user(t)
    reader, of_group = user(t, entry(f"Topic:{topic}", "Sub")), user(t, entry(f"Group:{group}", "Sub"))
    for who, credentials in (("nobody", none), ("of the topic", reader), ("of the group", of_group)):
        for label, (rpc, request) in requests(t, topic, group).items():
            answer = t.call(rpc, request, **signed(credentials))
            t.see(f"{label}, {who}", answer if answer.status.code == UNAUTHORIZED else "goes on")
        received = t.receive(topic, group, deadline=10, await_s=5, **signed(credentials))
        t.see(f"receive, {who}", received)


@grpc_case("DefaultAuthorizationContextBuilder.build", settings=GUARDED)
def what_is_missing_is_said_first(t: Grpc) -> None:
    """Blank topics and groups and missing fields are rejected as UNAUTHORIZED."""
    ann = signed(user(t, ALL))
    for label, (rpc, request) in requests(t, " ", "").items():
        t.see(label, t.call(rpc, request, **ann))
    t.see("send nothing", t.call("SendMessage", sv.SendMessageRequest(), **ann), UNAUTHORIZED)
    t.see("retry topic", t.route("%RETRY%x", **signed(user(t))), UNAUTHORIZED)
    nothing = sv.ReceiveMessageRequest(group=named("g"))
    t.see("receive from nowhere", t.start_receiving(nothing, deadline=10, **ann)())


@grpc_case("GrpcMessagingApplication.telemetry", settings=GUARDED)
def a_stream_is_refused_command_by_command(t: Grpc) -> None:
    """A telemetry stream checks each command.

    A rejected command gets the reason, and the stream ends.

    Commands without settings require only a signature.
    """
    topic, group = t.topic(kind="NORMAL"), t.group()
    none, ann = user(t), user(t, entry(f"Topic:{topic}", "Pub"), entry(f"Group:{group}", "Sub"))
    publishing, subscription = t.publishing(topic), t.subscription(group, {topic: "*"})

    def see(label: str, who: Credentials | None, settings: pb.Settings) -> None:
        stream = t.open(t.new("client"), settings, **signed(who))
        first = stream.next()
        t.see(label, first.status if isinstance(first, sv.TelemetryCommand) else first)
        if isinstance(first, sv.TelemetryCommand) and first.status.code != pb.OK:
            t.see(f"{label}, then", stream.next())

    see("producer of nobody", None, publishing)
    see("producer without rights", none, publishing)
    see("producer", ann, publishing)
    see("producer of no topic without rights", none, t.publishing())
    see("producer of a blank topic", none, t.publishing(" "))
    see("consumer without rights", none, subscription)
    see("consumer of the group alone", ann, subscription)
    see("consumer of no group", ann, t.subscription("", {topic: "*"}))
    see("neither", none, pb.Settings(client_type=pb.PRODUCER, access_point=t.endpoints()))
    give(t, ann.access_key, entry(f"Topic:{topic}", "Sub"))
    see("consumer", ann, subscription)
    other = t.open(t.new("client"), **signed(None))
    other.send(sv.TelemetryCommand(thread_stack_trace=sv.ThreadStackTrace()))
    t.see("another command of nobody", other.command().status)


@grpc_case("StatefulAuthenticationStrategy.evaluate", settings=REMEMBERING)
def a_proxy_looks_at_each_call(t: Grpc) -> None:
    """The proxy authenticates each call, even if its broker uses the stateful strategy. Each has its own strategy."""
    topic, ann = t.topic(kind="NORMAL"), user(t, entry("*", "Pub"))
    wrong = Credentials(ann.access_key, "other")
    t.see("good", t.route(topic, **signed(ann)), pb.OK)
    t.see("bad", t.route(topic, **signed(wrong)), UNAUTHORIZED)
    t.see("good again", t.route(topic, **signed(ann)), pb.OK)
