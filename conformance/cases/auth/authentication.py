"""Authentication of requests by their signatures."""

from rocketmq_testkit.remoting.client import Credentials
from rocketmq_testkit.remoting.client.signing import sign, signature
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...context.remoting import RemotingContext
from ...helpers.accounts import SECRET, as_user, entry, try_create_user, user
from ...helpers.settings import ACL_CACHED, ACL_ENFORCED, ACL_STORED_ONLY

ALL = entry("*", "All")


@remoting_case("DefaultAuthenticationHandler.doAuthenticate", settings=ACL_ENFORCED)
def only_requests_signed_by_an_enabled_user_are_accepted(t: RemotingContext) -> None:
    """A request must be signed by an existing, enabled user with its own password. Others get code 16 with a reason."""
    topic, ann = t.topic(), user(t, ALL)
    t.note("own secret", t.send(topic, to=as_user(t, ann)), 0)
    t.note("super", t.send(topic), 0)
    t.note("a token beside", t.send(topic, to=as_user(t, Credentials(ann.access_key, SECRET, "token"))), 0)
    t.note("nobody", t.send(topic, to=as_user(t, None)), 16)
    t.note("another secret", t.send(topic, to=as_user(t, Credentials(ann.access_key, "other"))), 16)
    t.note("a stranger", t.send(topic, to=as_user(t, Credentials(t.new("user"), SECRET))), 16)
    t.note("an empty name", t.send(topic, to=as_user(t, Credentials("", SECRET))), 16)
    t.note("a blank name", t.send(topic, to=as_user(t, Credentials(" ", SECRET))), 16)
    mine = as_user(t, ann)
    t.note("before it is disabled", t.send(topic, to=mine), 0)
    name: dict[str, object] = {"username": ann.access_key}
    t.request(RequestCode.AUTH_UPDATE_USER, name, dumps({"userStatus": "disable"}))
    t.note("disabled", t.send(topic, to=mine), 16)
    t.request(RequestCode.AUTH_UPDATE_USER, name, dumps({"userStatus": "enable", "password": "new"}))
    t.note("with the old password", t.send(topic, to=mine), 16)
    t.note("with the new one", t.send(topic, to=as_user(t, Credentials(ann.access_key, "new"))), 0)
    t.request(RequestCode.AUTH_DELETE_USER, name)
    t.note("deleted", t.send(topic, to=mine), 16)


@remoting_case("DefaultAuthenticationContextBuilder.build", settings=ACL_ENFORCED)
def a_signature_is_over_all_fields_and_the_body(t: RemotingContext) -> None:
    """A signature covers all fields in the order of their names, and the body. Any change of them invalidates it."""
    topic, ann = t.topic(), user(t, ALL)
    to = as_user(t, None)
    fields: dict[str, str] = {"topic": topic, "zone": "é", "Alpha": "A"}

    def request(ext: dict[str, str], body: bytes = b"") -> object:
        return t.request(RequestCode.GET_TOPIC_CONFIG, ext, body, to=to)

    good = sign(ann, fields, b"body")
    t.note("as signed", request(good, b"body"), 0)
    t.note("another body", request(good, b"bodY"), 16)
    t.note("no body", request(good), 16)
    t.note("a field more", request({**good, "more": "1"}, b"body"), 16)
    t.note("an empty field more", request({**good, "more": ""}, b"body"), 0)
    t.note("a field less", request({name: value for name, value in good.items() if name != "zone"}, b"body"), 16)
    t.note("no signature", request({name: value for name, value in good.items() if name != "Signature"}, b"body"), 16)
    t.note("an empty signature", request({**good, "Signature": ""}, b"body"), 16)
    t.note("signed without a name", request({**fields, "Signature": signature(SECRET, fields)}), 16)
    t.note("a flag of old clients", request(sign(ann, {**fields, "_UNIQUE_KEY_QUERY": "true"}, b"")), 0)
    unsigned_flag = {**sign(ann, fields, b""), "_UNIQUE_KEY_QUERY": "true"}
    t.note("that is not signed", request(unsigned_flag), 16)
    for version in (399, 400):
        old = t.connect(credentials=None, version=version)
        t.note(f"that is not signed, version {version}", t.request(RequestCode.GET_TOPIC_CONFIG, unsigned_flag, to=old))


@remoting_case("NettyRemotingAbstract.buildProcessRequestHandler", settings=ACL_ENFORCED)
def the_signature_is_checked_before_code_fields_and_body(t: RemotingContext) -> None:
    """The broker checks the signature first, for every code, fields and body. A name server checks no signatures."""
    nobody = as_user(t, None)
    t.note("unknown code", t.request(9999, {}, to=nobody), 16)
    t.note("unknown code, signed", t.request(9999, {}), 3)
    t.note("no fields", t.request(RequestCode.HEART_BEAT, None, b"", to=nobody), 16)
    t.note("no header", t.request(RequestCode.SEND_MESSAGE_V2, {"b": ""}, to=nobody), 16)
    t.note("bad numbers", t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"queueId": "x"}, to=nobody), 16)
    t.note("an odd body", t.request(RequestCode.LOCK_BATCH_MQ, {}, b"x", to=nobody), 16)
    t.note("for name servers", t.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "x"}, to=nobody), 16)
    namesrv = t.connect(t.deployment.access.namesrv, credentials=None)
    t.note("of a name server", t.request(RequestCode.GET_BROKER_CLUSTER_INFO, {}, to=namesrv).code)
    nobody.oneway(RequestCode.SEND_MESSAGE_V2, {"b": "x"})
    t.note("after a oneway request", t.request(9999, {}, to=nobody), 16)


@remoting_case("AbstractAuthenticationStrategy.doEvaluate", settings=ACL_ENFORCED)
def whitelisted_request_codes_need_no_signature(t: RemotingContext) -> None:
    """Only codes in `authenticationWhitelist` need no signature, but the user name must still have the right."""
    topic, nobody = t.topic(), as_user(t, None)
    place: dict[str, object] = {"topic": topic, "queueId": 0}
    t.note("listed", t.request(RequestCode.GET_MIN_OFFSET, place, to=nobody))
    t.note("listed, with a name", t.request(RequestCode.GET_MIN_OFFSET, {**place, "AccessKey": "root"}, to=nobody))
    t.note("listed, without fields", t.request(RequestCode.GET_MIN_OFFSET, None, to=nobody).code)
    t.note("listed after a blank", t.request(RequestCode.GET_MAX_OFFSET, place, to=nobody))
    t.note("not listed", t.request(RequestCode.GET_EARLIEST_MSG_STORETIME, place, to=nobody), 16)


@remoting_case("AuthenticationPipeline.execute", settings=ACL_STORED_ONLY)
def signatures_are_ignored_without_authentication(t: RemotingContext) -> None:
    """Without authentication the broker ignores signatures, even if it stores users."""
    topic = t.topic()
    name = t.new("user")
    try_create_user(t, name, userStatus="disable")
    for label, credentials in (
        ("nobody", None),
        ("disabled", Credentials(name, SECRET)),
        ("stranger", Credentials(t.new("user"), SECRET)),
    ):
        t.note(label, t.send(topic, to=as_user(t, credentials)), 0)


@remoting_case("StatefulAuthenticationStrategy.evaluate", settings=ACL_CACHED)
def the_stateful_strategy_caches_authentication_per_connection(t: RemotingContext) -> None:
    """The stateful strategy caches the result for a connection and user, good or bad, for the configured time."""
    topic, ann = t.topic(), user(t, ALL)
    nobody, good, bad = as_user(t, None), as_user(t, ann), as_user(t, Credentials(ann.access_key, "other"))
    t.note("good", t.send(topic, to=good), 0)
    t.note("bad", t.send(topic, to=bad), 16)
    t.note("nobody", t.send(topic, to=nobody), 16)
    bad.credentials, good.credentials = ann, Credentials(ann.access_key, "other")
    t.note("bad, mended", t.send(topic, to=bad), 16)
    t.note("good, spoilt", t.send(topic, to=good), 0)
    nobody.credentials = ann
    t.note("somebody after nobody", t.send(topic, to=nobody), 0)
    t.wait(3.5)
    t.note("bad, mended, later", t.send(topic, to=bad), 0)
    t.note("good, spoilt, later", t.send(topic, to=good), 16)
