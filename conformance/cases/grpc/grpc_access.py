"""Authentication and authorization of calls to the proxy."""

from google.protobuf.message import Message
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import Credentials
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...clients.grpc_signature import DATE_TIME, authorization
from ...clients.json_text import dumps
from ...context.grpc import GrpcContext
from ...helpers.accounts import SECRET, add_policies, entry, signed, user
from ...helpers.settings import ACL_CACHED, ACL_ENFORCED

ALL = entry("*", "All")
UNAUTHORIZED = pb.UNAUTHORIZED


def named(name: str) -> pb.Resource:
    """Return the resource of a topic or a group."""
    return pb.Resource(name=name)


@grpc_case("DefaultAuthenticationHandler.doAuthenticate", settings=ACL_ENFORCED)
def a_call_must_be_signed_by_an_enabled_user(t: GrpcContext) -> None:
    """A call must be signed by an existing, enabled user with its own password.

    Any other signature is UNAUTHORIZED with a reason.
    """
    topic, ann = t.topic(kind="NORMAL"), user(t, ALL)
    t.note("own secret", t.route(topic, **signed(ann)), pb.OK)
    t.note("super", t.route(topic), pb.OK)
    t.note("a token beside", t.route(topic, **signed(Credentials(ann.access_key, SECRET, "token"))), pb.OK)
    t.note("nobody", t.route(topic, **signed(None)), UNAUTHORIZED)
    t.note("another secret", t.route(topic, **signed(Credentials(ann.access_key, "other"))), UNAUTHORIZED)
    t.note("a stranger", t.route(topic, **signed(Credentials(t.new("user"), SECRET))), UNAUTHORIZED)
    t.note("no client, nobody", t.route(topic, client=None, **signed(None)), UNAUTHORIZED)
    t.note("no client", t.route(topic, client=None), pb.CLIENT_ID_REQUIRED)
    t.note("no topic, nobody", t.route("", **signed(None)), UNAUTHORIZED)
    t.note("no topic", t.route(""))
    t.note("listed, nobody", t.assignment(topic, t.new("group"), **signed(None)))
    name = {"username": ann.access_key}
    t.request(RequestCode.AUTH_UPDATE_USER, name, dumps({"userStatus": "disable"}))
    t.note("disabled", t.route(topic, **signed(ann)), UNAUTHORIZED)
    t.request(RequestCode.AUTH_DELETE_USER, name)
    t.note("deleted", t.route(topic, **signed(ann)), UNAUTHORIZED)


@grpc_case("DefaultAuthenticationContextBuilder.build", settings=ACL_ENFORCED)
def a_malformed_authorization_header_is_rejected(t: GrpcContext) -> None:
    """The parts of the authorization header may come in any order, with further parts.

    A malformed header is rejected with a reason.
    """
    topic, ann = t.topic(kind="NORMAL"), user(t, ALL)
    headers = authorization(ann)
    moment, text = headers[DATE_TIME], headers["authorization"]
    scheme, _, rest = text.partition(" ")
    who, what, proof = rest.split(", ")
    lower = proof.partition("=")[0] + "=" + proof.partition("=")[2].lower()

    def note(label: str, text: str | None, moment: str | None = moment) -> None:
        t.note(label, t.route(topic, authorization=text, x_mq_date_time=moment))

    note("as clients do", text)
    note("turned round", f"{scheme} {proof},{what} , {who}")
    note("another scheme", f"Basic {rest}")
    note("small digits", f"{scheme} {who}, {what}, {lower}")
    note("more parts", f"{scheme} {who}, a=b, {proof}, c=")
    note("with region and service", f"{scheme} {who}/region/RocketMQ, {what}, {proof}")
    note("a comma at the end", f"{scheme} {who}, {what}, {proof},,")
    note("no date", text, None)
    note("an empty date", text, "")
    note("another date", text, moment[:-2] + "9Z" if moment[-2] != "9" else moment[:-2] + "8Z")
    note("a date of any form", _signed_over(ann, "yesterday"), "yesterday")
    note("no parts", scheme)
    note("blank parts", f"{scheme} ")
    note("a part without a value", f"{scheme} {who}, x, {proof}")
    note("an empty part", f"{scheme} {who}, , {proof}")
    note("no user", f"{scheme} {what}, {proof}")
    note("an empty user", f"{scheme} Credential=, {proof}")
    note("slashes for a user", f"{scheme} Credential=//, {proof}")
    note("no signature", f"{scheme} {who}, {what}")
    note("no digits", f"{scheme} {who}, Signature=xyz")
    note("an odd number of digits", f"{scheme} {who}, {proof}A")
    note("an empty signature", f"{scheme} {who}, Signature=")
    note("empty", "")


def _signed_over(credentials: Credentials, moment: str) -> str:
    return authorization(credentials, moment)["authorization"]


def requests(t: GrpcContext, topic: str, group: str) -> dict[str, tuple[str, Message]]:
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


@grpc_case("DefaultAuthorizationContextBuilder.build", settings=ACL_ENFORCED)
def each_rpc_requires_rights_on_its_topic_group_or_both(t: GrpcContext) -> None:
    """Each RPC requires rights on topics, groups or both. Without them the response names the first missing right."""
    topic, group = t.topic(kind="NORMAL"), t.group()
    none = user(t)
    reader, of_group = user(t, entry(f"Topic:{topic}", "Sub")), user(t, entry(f"Group:{group}", "Sub"))
    for who, credentials in (("nobody", none), ("of the topic", reader), ("of the group", of_group)):
        for label, (rpc, request) in requests(t, topic, group).items():
            response = t.call(rpc, request, **signed(credentials))
            t.note(f"{label}, {who}", response if response.status.code == UNAUTHORIZED else "goes on")
        received = t.receive(topic, group, deadline=10, await_s=5, **signed(credentials))
        t.note(f"receive, {who}", received)


@grpc_case("DefaultAuthorizationContextBuilder.build", settings=ACL_ENFORCED)
def blank_topics_and_groups_are_rejected_as_unauthorized(t: GrpcContext) -> None:
    """Blank topics and groups and missing fields are rejected as UNAUTHORIZED."""
    ann = signed(user(t, ALL))
    for label, (rpc, request) in requests(t, " ", "").items():
        t.note(label, t.call(rpc, request, **ann))
    t.note("send nothing", t.call("SendMessage", sv.SendMessageRequest(), **ann), UNAUTHORIZED)
    t.note("retry topic", t.route("%RETRY%x", **signed(user(t))), UNAUTHORIZED)
    nothing = sv.ReceiveMessageRequest(group=named("g"))
    t.note("receive from nowhere", t.start_receiving(nothing, deadline=10, **ann)())


@grpc_case("GrpcMessagingApplication.telemetry", settings=ACL_ENFORCED)
def a_telemetry_stream_ends_with_an_unauthorized_command(t: GrpcContext) -> None:
    """A telemetry stream checks each command.

    A rejected command gets the reason, and the stream ends.

    Commands without settings require only a signature.
    """
    topic, group = t.topic(kind="NORMAL"), t.group()
    none, ann = user(t), user(t, entry(f"Topic:{topic}", "Pub"), entry(f"Group:{group}", "Sub"))
    publishing, subscription = t.publishing(topic), t.subscription(group, {topic: "*"})

    def note(label: str, who: Credentials | None, settings: pb.Settings) -> None:
        stream = t.open(t.new("client"), settings, **signed(who))
        first = stream.next()
        t.note(label, first.status if isinstance(first, sv.TelemetryCommand) else first)
        if isinstance(first, sv.TelemetryCommand) and first.status.code != pb.OK:
            t.note(f"{label}, then", stream.next())

    note("producer of nobody", None, publishing)
    note("producer without rights", none, publishing)
    note("producer", ann, publishing)
    note("producer of no topic without rights", none, t.publishing())
    note("producer of a blank topic", none, t.publishing(" "))
    note("consumer without rights", none, subscription)
    note("consumer of the group alone", ann, subscription)
    note("consumer of no group", ann, t.subscription("", {topic: "*"}))
    note("neither", none, pb.Settings(client_type=pb.PRODUCER, access_point=t.endpoints()))
    add_policies(t, ann.access_key, entry(f"Topic:{topic}", "Sub"))
    note("consumer", ann, subscription)
    other = t.open(t.new("client"), **signed(None))
    other.send(sv.TelemetryCommand(thread_stack_trace=sv.ThreadStackTrace()))
    t.note("another command of nobody", other.command().status)


@grpc_case("StatefulAuthenticationStrategy.evaluate", settings=ACL_CACHED)
def the_proxy_authenticates_each_call_despite_a_stateful_broker(t: GrpcContext) -> None:
    """The proxy authenticates each call, even if its broker uses the stateful strategy.

    The strategy of the proxy is a key of its own.
    """
    topic, ann = t.topic(kind="NORMAL"), user(t, entry("*", "Pub"))
    wrong = Credentials(ann.access_key, "other")
    t.note("good", t.route(topic, **signed(ann)), pb.OK)
    t.note("bad", t.route(topic, **signed(wrong)), UNAUTHORIZED)
    t.note("good again", t.route(topic, **signed(ann)), pb.OK)
