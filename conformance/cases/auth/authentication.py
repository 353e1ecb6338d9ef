"""Authentication of requests by their signatures."""

from rocketmq_testkit.remoting.client import Credentials
from rocketmq_testkit.remoting.client.signing import sign, signature
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...json_text import dumps
from ...settings import GUARDED, KEEPING, REMEMBERING
from ...worlds.accounts import SECRET, as_user, ask_for_user, entry, user
from ...worlds.remoting import Remoting

ALL = entry("*", "All")


@remoting_case("DefaultAuthenticationHandler.doAuthenticate", settings=GUARDED)
def a_request_is_signed_by_somebody(t: Remoting) -> None:
    """A request must be signed by an existing, enabled user with its own password. Others get code 16 with a reason."""
    topic, ann = t.topic(), user(t, ALL)
    t.see("own secret", t.send(topic, to=as_user(t, ann)), 0)
    t.see("super", t.send(topic), 0)
    t.see("a token beside", t.send(topic, to=as_user(t, Credentials(ann.access_key, SECRET, "token"))), 0)
    t.see("nobody", t.send(topic, to=as_user(t, None)), 16)
    t.see("another secret", t.send(topic, to=as_user(t, Credentials(ann.access_key, "other"))), 16)
    t.see("a stranger", t.send(topic, to=as_user(t, Credentials(t.new("user"), SECRET))), 16)
    t.see("an empty name", t.send(topic, to=as_user(t, Credentials("", SECRET))), 16)
    t.see("a blank name", t.send(topic, to=as_user(t, Credentials(" ", SECRET))), 16)
    mine = as_user(t, ann)
    t.see("before it is disabled", t.send(topic, to=mine), 0)
    name: dict[str, object] = {"username": ann.access_key}
    t.ask(RequestCode.AUTH_UPDATE_USER, name, dumps({"userStatus": "disable"}))
    t.see("disabled", t.send(topic, to=mine), 16)
    t.ask(RequestCode.AUTH_UPDATE_USER, name, dumps({"userStatus": "enable", "password": "new"}))
    t.see("with the old password", t.send(topic, to=mine), 16)
    t.see("with the new one", t.send(topic, to=as_user(t, Credentials(ann.access_key, "new"))), 0)
    t.ask(RequestCode.AUTH_DELETE_USER, name)
    t.see("deleted", t.send(topic, to=mine), 16)


@remoting_case("DefaultAuthenticationContextBuilder.build", settings=GUARDED)
def a_signature_is_over_all_fields_and_the_body(t: Remoting) -> None:
    """A signature covers all fields in the order of their names, and the body. Any change of them invalidates it."""
    topic, ann = t.topic(), user(t, ALL)
    to = as_user(t, None)
    fields: dict[str, str] = {"topic": topic, "zone": "é", "Alpha": "A"}

    def ask(ext: dict[str, str], body: bytes = b"") -> object:
        return t.ask(RequestCode.GET_TOPIC_CONFIG, ext, body, to=to)

    good = sign(ann, fields, b"body")
    t.see("as signed", ask(good, b"body"), 0)
    t.see("another body", ask(good, b"bodY"), 16)
    t.see("no body", ask(good), 16)
    t.see("a field more", ask({**good, "more": "1"}, b"body"), 16)
    t.see("an empty field more", ask({**good, "more": ""}, b"body"), 0)
    t.see("a field less", ask({name: value for name, value in good.items() if name != "zone"}, b"body"), 16)
    t.see("no signature", ask({name: value for name, value in good.items() if name != "Signature"}, b"body"), 16)
    t.see("an empty signature", ask({**good, "Signature": ""}, b"body"), 16)
    t.see("signed without a name", ask({**fields, "Signature": signature(SECRET, fields)}), 16)
    t.see("a flag of old clients", ask(sign(ann, {**fields, "_UNIQUE_KEY_QUERY": "true"}, b"")), 0)
    unsigned_flag = {**sign(ann, fields, b""), "_UNIQUE_KEY_QUERY": "true"}
    t.see("that is not signed", ask(unsigned_flag), 16)
    for version in (399, 400):
        old = t.connect(credentials=None, version=version)
        t.see(f"that is not signed, version {version}", t.ask(RequestCode.GET_TOPIC_CONFIG, unsigned_flag, to=old))


@remoting_case("NettyRemotingAbstract.buildProcessRequestHandler", settings=GUARDED)
def it_is_looked_at_before_anything_else(t: Remoting) -> None:
    """The broker checks the signature first, for every code, fields and body. A name server checks no signatures."""
    nobody = as_user(t, None)
    t.see("unknown code", t.ask(9999, {}, to=nobody), 16)
    t.see("unknown code, signed", t.ask(9999, {}), 3)
    t.see("no fields", t.ask(RequestCode.HEART_BEAT, None, b"", to=nobody), 16)
    t.see("no header", t.ask(RequestCode.SEND_MESSAGE_V2, {"b": ""}, to=nobody), 16)
    t.see("bad numbers", t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"queueId": "x"}, to=nobody), 16)
    t.see("an odd body", t.ask(RequestCode.LOCK_BATCH_MQ, {}, b"x", to=nobody), 16)
    t.see("for name servers", t.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "x"}, to=nobody), 16)
    namesrv = t.connect(t.place.access.namesrv, credentials=None)
    t.see("of a name server", t.ask(RequestCode.GET_BROKER_CLUSTER_INFO, {}, to=namesrv).code)
    nobody.oneway(RequestCode.SEND_MESSAGE_V2, {"b": "x"})
    t.see("after a oneway request", t.ask(9999, {}, to=nobody), 16)


@remoting_case("AbstractAuthenticationStrategy.doEvaluate", settings=GUARDED)
def a_white_list_needs_no_signature(t: Remoting) -> None:
    """Only codes in `authenticationWhitelist` need no signature, but the user name must still have the right."""
    topic, nobody = t.topic(), as_user(t, None)
    place: dict[str, object] = {"topic": topic, "queueId": 0}
    t.see("listed", t.ask(RequestCode.GET_MIN_OFFSET, place, to=nobody))
    t.see("listed, with a name", t.ask(RequestCode.GET_MIN_OFFSET, {**place, "AccessKey": "root"}, to=nobody))
    t.see("listed, without fields", t.ask(RequestCode.GET_MIN_OFFSET, None, to=nobody).code)
    t.see("listed after a blank", t.ask(RequestCode.GET_MAX_OFFSET, place, to=nobody))
    t.see("not listed", t.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, place, to=nobody), 16)


@remoting_case("AuthenticationPipeline.execute", settings=KEEPING)
def nobody_is_looked_at_where_it_is_off(t: Remoting) -> None:
    """Without authentication the broker ignores signatures, even if it stores users."""
    topic = t.topic()
    name = t.new("user")
    ask_for_user(t, name, userStatus="disable")
    for label, credentials in (
        ("nobody", None),
        ("disabled", Credentials(name, SECRET)),
        ("stranger", Credentials(t.new("user"), SECRET)),
    ):
        t.see(label, t.send(topic, to=as_user(t, credentials)), 0)


@remoting_case("StatefulAuthenticationStrategy.evaluate", settings=REMEMBERING)
def a_connection_is_remembered(t: Remoting) -> None:
    """The stateful strategy caches the result for a connection and user, good or bad, for the configured time."""
    topic, ann = t.topic(), user(t, ALL)
    nobody, good, bad = as_user(t, None), as_user(t, ann), as_user(t, Credentials(ann.access_key, "other"))
    t.see("good", t.send(topic, to=good), 0)
    t.see("bad", t.send(topic, to=bad), 16)
    t.see("nobody", t.send(topic, to=nobody), 16)
    bad.credentials, good.credentials = ann, Credentials(ann.access_key, "other")
    t.see("bad, mended", t.send(topic, to=bad), 16)
    t.see("good, spoilt", t.send(topic, to=good), 0)
    nobody.credentials = ann
    t.see("somebody after nobody", t.send(topic, to=nobody), 0)
    t.wait(3.5)
    t.see("bad, mended, later", t.send(topic, to=bad), 0)
    t.see("good, spoilt, later", t.send(topic, to=good), 16)
