"""Requests for users and rights on a broker that stores them."""

from rocketmq_testkit.remoting.client import Credentials
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...json_text import dumps
from ...settings import GUARDED, KEEPING
from ...worlds.accounts import as_user, ask_for_rights, ask_for_user, entry, user
from ...worlds.remoting import Remoting

CREATE, UPDATE = RequestCode.AUTH_CREATE_USER, RequestCode.AUTH_UPDATE_USER
DELETE, GET, LIST = RequestCode.AUTH_DELETE_USER, RequestCode.AUTH_GET_USER, RequestCode.AUTH_LIST_USER
GET_ACL, LIST_ACL = RequestCode.AUTH_GET_ACL, RequestCode.AUTH_LIST_ACL
DELETE_ACL, UPDATE_ACL = RequestCode.AUTH_DELETE_ACL, RequestCode.AUTH_UPDATE_ACL


@remoting_case("AuthenticationMetadataManagerImpl.createUser, updateUser, deleteUser", settings=KEEPING)
def a_user_is_kept_and_changed(t: Remoting) -> None:
    """A user can be created once, with defaults for missing values, and an update keeps what it does not mention.

    Deleting an unknown user succeeds.
    """
    ann, bob = {"username": t.new("user")}, {"username": t.new("user")}
    t.see("nobody", t.ask(GET, ann), 0)
    t.see("made", ask_for_user(t, ann["username"]), 0)
    t.see("made again", ask_for_user(t, ann["username"]), 16)
    t.see("shown", t.ask(GET, ann), 0)
    t.see("made of a password", t.ask(CREATE, bob, dumps({"password": "b"})), 0)
    t.see("with defaults", t.ask(GET, bob), 0)
    t.see("odd words", ask_for_user(t, t.new("user"), userType="boss", userStatus="asleep"), 0)
    t.see("updated", t.ask(UPDATE, ann, dumps({"userStatus": "DISABLE"})), 0)
    t.see("disabled", t.ask(GET, ann), 0)
    t.see("updated with a blank password", t.ask(UPDATE, ann, dumps({"password": " ", "userType": "SUPER"})), 0)
    t.see("super", t.ask(GET, ann), 0)
    t.see("updated with a password", t.ask(UPDATE, ann, dumps({"password": "new", "userStatus": "?"})), 0)
    t.see("new password", t.ask(GET, ann), 0)
    t.see("nobody updated", t.ask(UPDATE, {"username": t.new("user")}, dumps({"password": "x"})), 16)
    t.see("deleted", t.ask(DELETE, ann), 0)
    t.see("gone", t.ask(GET, ann), 0)
    t.see("deleted again", t.ask(DELETE, ann), 0)


@remoting_case("LocalAuthenticationMetadataProvider.listUser", settings=KEEPING)
def users_are_listed_by_a_part_of_their_names(t: Remoting) -> None:
    """Users are listed by a part of their names, in order.

    A blank filter matches all, and an empty result has no body.
    """
    stem = t.new("stem")
    for name in (f"{stem}b", f"{stem}a", f"x{stem}", f"{stem}B"):
        ask_for_user(t, name)
    t.see("by the stem", t.ask(LIST, {"filter": stem}), 0)
    t.see("by the end", t.ask(LIST, {"filter": f"{stem}a"}), 0)
    t.see("nobody", t.ask(LIST, {"filter": f"{stem}z"}), 0)
    listed = t.ask(LIST, {"filter": " "})
    t.see("blank", [each["username"] for each in listed.json if stem in each["username"]])


@remoting_case("AdminBrokerProcessor.isNotSuperUserLogin", settings=KEEPING)
def a_signature_that_nobody_checks(t: Remoting) -> None:
    """Unsigned requests and those that name a super user can change super users; other requests are rejected."""
    boss, ann = t.new("user"), t.new("user")
    ask_for_user(t, boss, userType="Super")
    ask_for_user(t, ann)
    for label, who in (("stranger", t.new("user")), ("normal", ann), ("super", boss)):
        signer = {"AccessKey": who}
        made = {"username": t.new("user"), **signer}
        t.see(f"{label} makes", t.ask(CREATE, made, dumps({"password": "x", "userType": "Super"})))
        t.see(
            f"{label} makes a normal one",
            t.ask(CREATE, {"username": t.new("user"), **signer}, dumps({"password": "x"})),
        )
        t.see(f"{label} promotes", t.ask(UPDATE, {"username": ann, **signer}, dumps({"userType": "Super"})))
        t.see(f"{label} changes", t.ask(UPDATE, {"username": boss, **signer}, dumps({"password": "y"})))
        t.see(f"{label} deletes", t.ask(DELETE, {"username": boss, **signer}))


@remoting_case("AuthorizationMetadataManagerImpl.createAcl, updateAcl", settings=KEEPING)
def rights_are_given_piece_by_piece(t: Remoting) -> None:
    """New entries replace those of the same resource and keep the others. Create and update have the same effect."""
    name = t.new("user")
    of = {"subject": f"User:{name}"}
    t.see("nobody's", ask_for_rights(t, name, entry("Topic:a", "Pub")), 16)
    t.see("shown of nobody", t.ask(GET_ACL, of), 16)
    ask_for_user(t, name)
    t.see("none", t.ask(GET_ACL, of), 0)
    t.see("given", ask_for_rights(t, name, entry("topic:a", "PUB", "sub"), entry("Group:g*", "All", "?")), 0)
    t.see("shown", t.ask(GET_ACL, of), 0)
    t.see("more", ask_for_rights(t, name, entry("Topic:b", "Get", sources=("127.0.0.1", "10.0.0.0/8"))), 0)
    t.see("otherwise", ask_for_rights(t, name, entry("Topic:a", "List", decision="DENY")), 0)
    t.see("by default", ask_for_rights(t, name, entry("*", "Pub"), entry("Cluster:*", "Get"), kind="default"), 0)
    t.see("without a kind", ask_for_rights(t, name, entry("Topic:*", "Delete"), kind=None), 0)
    body = {"policies": [{"policyType": "Default", "entries": [entry("Namespace:n", "Create", "Unknown")]}]}
    t.see("updated", t.ask(UPDATE_ACL, of, dumps(body)), 0)
    t.see("shown at last", t.ask(GET_ACL, of), 0)


@remoting_case("AuthorizationMetadataManagerImpl.deleteAcl", settings=KEEPING)
def rights_are_taken_away(t: Remoting) -> None:
    """Rights are deleted for one resource or all.

    A user without rights is an error, and rights are deleted with their user.
    """
    name = t.new("user")
    of = {"subject": f"User:{name}"}
    t.see("of nobody", t.ask(DELETE_ACL, of), 16)
    ask_for_user(t, name)
    t.see("of none", t.ask(DELETE_ACL, of), 16)
    for kind in ("Custom", "Default"):
        ask_for_rights(t, name, entry("Topic:a", "Pub"), entry("Topic:b*", "Pub"), kind=kind)
    t.see("another kind of resource", t.ask(DELETE_ACL, {**of, "resource": "Group:a"}), 0)
    t.see("one", t.ask(DELETE_ACL, {**of, "resource": "Topic:a"}), 0)
    t.see("a prefix", t.ask(DELETE_ACL, {**of, "resource": "Topic:b*", "policyType": "Default"}), 0)
    t.see("left", t.ask(GET_ACL, of), 0)
    t.see("the last custom one", t.ask(DELETE_ACL, {**of, "resource": "Topic:b*", "policyType": "Custom"}), 0)
    t.see("left then", t.ask(GET_ACL, of), 0)
    t.see("the last", t.ask(DELETE_ACL, {**of, "resource": "Topic:a", "policyType": "Default"}), 0)
    t.see("nothing left", t.ask(GET_ACL, of), 0)
    t.see("once more", t.ask(DELETE_ACL, {**of, "resource": "Topic:a"}), 16)
    ask_for_rights(t, name, entry("Topic:a", "Pub"))
    t.see("all", t.ask(DELETE_ACL, {**of, "policyType": "Default"}), 0)
    t.see("nothing left again", t.ask(GET_ACL, of), 0)
    ask_for_rights(t, name, entry("Topic:a", "Pub"))
    t.ask(DELETE, {"username": name})
    ask_for_user(t, name)
    t.see("of a new user of that name", t.ask(GET_ACL, of), 0)


@remoting_case("LocalAuthorizationMetadataProvider.listAcl", settings=KEEPING)
def rights_are_listed(t: Remoting) -> None:
    """Rights are listed by parts of subject and resource.

    If the resource filter matches the subject, all rights are listed.
    """
    stem = t.new("stem")
    ask_for_user(t, f"{stem}-none")
    for name in (f"{stem}-b", f"{stem}-a"):
        ask_for_user(t, name)
        ask_for_rights(t, name, entry(f"Topic:{name}", "Pub"), entry("Group:g", "Sub"))
        ask_for_rights(t, name, entry("Topic:other", "Pub"), kind="Default")

    def listed(**filters: str) -> object:
        return t.ask(LIST_ACL, filters)

    t.see("by subject", listed(subjectFilter=stem))
    t.see("by both", listed(subjectFilter=stem, resourceFilter="Topic:"))
    t.see("by one", listed(subjectFilter=stem, resourceFilter=f"{stem}-a"))
    t.see("by kind of subject", listed(subjectFilter=f"User:{stem}-a", resourceFilter="g"))
    t.see("by no resource", listed(subjectFilter=stem, resourceFilter="nothing"))
    t.see("by no subject", listed(subjectFilter=f"{stem}-none"))


@remoting_case("AuthenticationMetadataManagerImpl.initUser", settings=GUARDED)
def the_first_user_is_made_at_the_start(t: Remoting) -> None:
    """The initial user is created at the start as a super user. Other users cannot change it, even with all rights."""
    cluster = entry("Cluster:*", "All")
    ann: Credentials = user(t, cluster)
    mine = as_user(t, ann)
    t.see("shown", t.ask(GET, {"username": "root"}), 0)
    t.see("shown to another", t.ask(GET, {"username": "root"}, to=mine), 0)
    t.see("changed by another", t.ask(UPDATE, {"username": "root"}, dumps({"password": "x"}), to=mine), 16)
    t.see("deleted by another", t.ask(DELETE, {"username": "root"}, to=mine), 16)
    t.see("super by another", ask_for_user(t, t.new("user"), to=mine, userType="Super"), 1)
    t.see("normal by another", ask_for_user(t, t.new("user"), to=mine), 0)
    t.see("super", ask_for_user(t, t.new("user"), userType="Super"), 0)
