"""Requests for users and rights on a broker without a configured store for them, which is the default."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...context.remoting import RemotingContext

USER: dict[str, object] = {"password": "secret", "userType": "Normal", "userStatus": "enable"}
ENTRY: dict[str, object] = {
    "resource": "Topic:orders",
    "actions": ["Pub", "Sub"],
    "sourceIps": ["192.168.0.0/24"],
    "decision": "Allow",
}


def acl(*entries: object, **policy: object) -> bytes:
    """Return the body of an ACL request with one policy."""
    return dumps({"policies": [{"policyType": "Custom", "entries": list(entries), **policy}]})


@remoting_case("AuthenticationMetadataManagerImpl.createUser")
def creating_a_user_is_rejected_without_a_user_store(t: RemotingContext) -> None:
    """Creating a user is rejected for an invalid name or password, or else because users cannot be stored."""
    create, named = RequestCode.AUTH_CREATE_USER, {"username": "ann"}
    t.note("good", t.request(create, named, dumps(USER)))
    t.note("no type", t.request(create, named, dumps({"password": "secret"})))
    t.note("super", t.request(create, named, dumps({**USER, "userType": "Super"})))
    t.note("super, signed", t.request(create, {**named, "AccessKey": "bob"}, dumps({**USER, "userType": "super"})))
    t.note("no password", t.request(create, named, dumps({"userType": "Normal"})))
    t.note("blank password", t.request(create, named, dumps({**USER, "password": " "})))
    t.note("no name", t.request(create, {}, dumps(USER)), 29)
    t.note("empty name", t.request(create, {"username": ""}, dumps(USER)), 29)
    t.note("blank name", t.request(create, {"username": " "}, dumps(USER)))
    t.note("name in the body", t.request(create, {}, dumps({**USER, "username": "ann"})), 29)
    t.note("no body", t.request(create, named))
    t.note("no object", t.request(create, named, b"[]"))


@remoting_case("AdminBrokerProcessor.updateUser")
def updating_deleting_and_reading_users_fail_without_a_user_store(t: RemotingContext) -> None:
    """Updating, deleting, reading and listing users fail without a user store."""
    update, delete, get = RequestCode.AUTH_UPDATE_USER, RequestCode.AUTH_DELETE_USER, RequestCode.AUTH_GET_USER
    named = {"username": "ann"}
    t.note("updated", t.request(update, named, dumps(USER)))
    t.note("updated without a password", t.request(update, named, dumps({"userStatus": "disable"})))
    t.note("updated, no name", t.request(update, {}, dumps(USER)), 29)
    t.note("updated, blank name", t.request(update, {"username": " "}, dumps(USER)))
    t.note("updated, no body", t.request(update, named))
    t.note("deleted", t.request(delete, named))
    t.note("deleted, no name", t.request(delete, {}))
    t.note("deleted, blank name", t.request(delete, {"username": " "}))
    t.note("shown", t.request(get, named))
    t.note("shown, no name", t.request(get, {}), 29)
    t.note("shown, blank name", t.request(get, {"username": " "}), 29)
    t.note("listed", t.request(RequestCode.AUTH_LIST_USER, {"filter": "a"}))
    t.note("listed, no filter", t.request(RequestCode.AUTH_LIST_USER, {}))


@remoting_case("AuthorizationMetadataManagerImpl.createAcl")
def creating_or_updating_an_acl_is_rejected_without_an_acl_store(t: RemotingContext) -> None:
    """Creating or updating rights is rejected if they are invalid, or else because rights cannot be stored."""
    of: dict[str, object] = {"subject": "User:ann"}
    for code in (RequestCode.AUTH_CREATE_ACL, RequestCode.AUTH_UPDATE_ACL):

        def give(body: bytes, ext: dict[str, object] = of, code: RequestCode = code) -> Any:
            return t.request(code, ext, body)

        word = code.name.split("_")[1].lower()
        t.note(f"{word}, good", give(acl(ENTRY)))
        t.note(f"{word}, default policy", give(acl(ENTRY, policyType="Default")))
        t.note(f"{word}, unknown policy", give(acl(ENTRY, policyType="x")))
        t.note(f"{word}, subject in the body", give(dumps({"subject": "User:b", "policies": [{"entries": [ENTRY]}]})))
        t.note(f"{word}, no body", give(b""), 1)
        t.note(f"{word}, no policies", give(dumps({"policies": []})), 1)
        t.note(f"{word}, no entries", give(dumps({"policies": [{"policyType": "Custom"}]})))
        changes: dict[str, dict[str, object]] = {
            "any resource": {"resource": "*"},
            "cluster": {"resource": "Cluster:*"},
            "group": {"resource": "Group:g*"},
            "no kind of resource": {"resource": "orders"},
            "unknown kind": {"resource": "Queue:a"},
            "no resource": {"resource": None},
            "empty resource": {"resource": ""},
            "no name of the resource": {"resource": "Topic:"},
            "no action": {"actions": []},
            "unknown action": {"actions": ["Look"]},
            "every action": {"actions": ["All"]},
            "any action": {"actions": ["Any"]},
            "no source": {"sourceIps": []},
            "blank source": {"sourceIps": [" "]},
            "wrong source": {"sourceIps": ["here"]},
            "any source": {"sourceIps": ["*"]},
            "wide source": {"sourceIps": ["10.0.0.0/99"]},
            "no decision": {"decision": None},
            "unknown decision": {"decision": "Maybe"},
            "deny": {"decision": "deny"},
            "no list of actions": {"actions": None},
        }
        for label, change in changes.items():
            t.note(f"{word}, {label}", give(acl({**ENTRY, **change})))
        t.note(f"{word}, unknown kind of subject", give(acl(ENTRY), {"subject": "Group:ann"}))
        t.note(f"{word}, no kind of subject", give(acl(ENTRY), {"subject": "ann"}))
        t.note(f"{word}, no subject", give(acl(ENTRY), {}))


@remoting_case("AuthorizationMetadataManagerImpl.deleteAcl")
def deleting_and_reading_acls_check_the_subject_first(t: RemotingContext) -> None:
    """Deleting and reading rights check the subject first."""
    delete, get = RequestCode.AUTH_DELETE_ACL, RequestCode.AUTH_GET_ACL
    of: dict[str, object] = {"subject": "User:ann"}
    t.note("deleted", t.request(delete, of))
    t.note("deleted of a resource", t.request(delete, {**of, "resource": "Topic:orders", "policyType": "Custom"}))
    t.note("deleted of no resource", t.request(delete, {**of, "resource": "orders", "policyType": "x"}))
    t.note("deleted, no subject", t.request(delete, {}))
    t.note("deleted, unknown subject", t.request(delete, {"subject": "Role:ann"}))
    t.note("shown", t.request(get, of))
    t.note("shown, no subject", t.request(get, {}))
    t.note("shown, unknown subject", t.request(get, {"subject": "Role:ann"}))
    t.note("listed", t.request(RequestCode.AUTH_LIST_ACL, {"subjectFilter": "a", "resourceFilter": "b"}))
    t.note("listed, no filter", t.request(RequestCode.AUTH_LIST_ACL, {}))
