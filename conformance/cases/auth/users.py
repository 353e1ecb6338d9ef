"""Requests for users and rights on a broker without a configured store for them, which is the default."""

from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...json_text import dumps
from ...worlds.remoting import Remoting

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
def no_user_is_created(t: Remoting) -> None:
    """Creating a user is rejected for an invalid name or password, or else because users cannot be stored."""
    create, named = RequestCode.AUTH_CREATE_USER, {"username": "ann"}
    t.see("good", t.ask(create, named, dumps(USER)))
    t.see("no type", t.ask(create, named, dumps({"password": "secret"})))
    t.see("super", t.ask(create, named, dumps({**USER, "userType": "Super"})))
    t.see("super, signed", t.ask(create, {**named, "AccessKey": "bob"}, dumps({**USER, "userType": "super"})))
    t.see("no password", t.ask(create, named, dumps({"userType": "Normal"})))
    t.see("blank password", t.ask(create, named, dumps({**USER, "password": " "})))
    t.see("no name", t.ask(create, {}, dumps(USER)), 29)
    t.see("empty name", t.ask(create, {"username": ""}, dumps(USER)), 29)
    t.see("blank name", t.ask(create, {"username": " "}, dumps(USER)))
    t.see("name in the body", t.ask(create, {}, dumps({**USER, "username": "ann"})), 29)
    t.see("no body", t.ask(create, named))
    t.see("no object", t.ask(create, named, b"[]"))


@remoting_case("AdminBrokerProcessor.updateUser")
def no_user_is_changed(t: Remoting) -> None:
    """Updating, deleting, reading and listing users fail as well."""
    update, delete, get = RequestCode.AUTH_UPDATE_USER, RequestCode.AUTH_DELETE_USER, RequestCode.AUTH_GET_USER
    named = {"username": "ann"}
    t.see("updated", t.ask(update, named, dumps(USER)))
    t.see("updated without a password", t.ask(update, named, dumps({"userStatus": "disable"})))
    t.see("updated, no name", t.ask(update, {}, dumps(USER)), 29)
    t.see("updated, blank name", t.ask(update, {"username": " "}, dumps(USER)))
    t.see("updated, no body", t.ask(update, named))
    t.see("deleted", t.ask(delete, named))
    t.see("deleted, no name", t.ask(delete, {}))
    t.see("deleted, blank name", t.ask(delete, {"username": " "}))
    t.see("shown", t.ask(get, named))
    t.see("shown, no name", t.ask(get, {}), 29)
    t.see("shown, blank name", t.ask(get, {"username": " "}), 29)
    t.see("listed", t.ask(RequestCode.AUTH_LIST_USER, {"filter": "a"}))
    t.see("listed, no filter", t.ask(RequestCode.AUTH_LIST_USER, {}))


@remoting_case("AuthorizationMetadataManagerImpl.createAcl")
def no_rights_are_given(t: Remoting) -> None:
    """Creating or updating rights is rejected if they are invalid, or else because rights cannot be stored."""
    of: dict[str, object] = {"subject": "User:ann"}
    for code in (RequestCode.AUTH_CREATE_ACL, RequestCode.AUTH_UPDATE_ACL):

        def give(body: bytes, ext: dict[str, object] = of, code: RequestCode = code) -> Any:
            return t.ask(code, ext, body)

        word = code.name.split("_")[1].lower()
        t.see(f"{word}, good", give(acl(ENTRY)))
        t.see(f"{word}, default policy", give(acl(ENTRY, policyType="Default")))
        t.see(f"{word}, unknown policy", give(acl(ENTRY, policyType="x")))
        t.see(f"{word}, subject in the body", give(dumps({"subject": "User:b", "policies": [{"entries": [ENTRY]}]})))
        t.see(f"{word}, no body", give(b""), 1)
        t.see(f"{word}, no policies", give(dumps({"policies": []})), 1)
        t.see(f"{word}, no entries", give(dumps({"policies": [{"policyType": "Custom"}]})))
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
            t.see(f"{word}, {label}", give(acl({**ENTRY, **change})))
        t.see(f"{word}, unknown kind of subject", give(acl(ENTRY), {"subject": "Group:ann"}))
        t.see(f"{word}, no kind of subject", give(acl(ENTRY), {"subject": "ann"}))
        t.see(f"{word}, no subject", give(acl(ENTRY), {}))


@remoting_case("AuthorizationMetadataManagerImpl.deleteAcl")
def no_rights_are_taken_or_shown(t: Remoting) -> None:
    """Deleting and reading rights check the subject first."""
    delete, get = RequestCode.AUTH_DELETE_ACL, RequestCode.AUTH_GET_ACL
    of: dict[str, object] = {"subject": "User:ann"}
    t.see("deleted", t.ask(delete, of))
    t.see("deleted of a resource", t.ask(delete, {**of, "resource": "Topic:orders", "policyType": "Custom"}))
    t.see("deleted of no resource", t.ask(delete, {**of, "resource": "orders", "policyType": "x"}))
    t.see("deleted, no subject", t.ask(delete, {}))
    t.see("deleted, unknown subject", t.ask(delete, {"subject": "Role:ann"}))
    t.see("shown", t.ask(get, of))
    t.see("shown, no subject", t.ask(get, {}))
    t.see("shown, unknown subject", t.ask(get, {"subject": "Role:ann"}))
    t.see("listed", t.ask(RequestCode.AUTH_LIST_ACL, {"subjectFilter": "a", "resourceFilter": "b"}))
    t.see("listed, no filter", t.ask(RequestCode.AUTH_LIST_ACL, {}))
