"""Requests for users and rights on a broker that stores them."""

from rocketmq_testkit.remoting.client import Credentials
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...context.remoting import RemotingContext
from ...helpers.accounts import as_user, entry, try_create_acl, try_create_user, user
from ...helpers.settings import ACL_ENFORCED, ACL_STORED_ONLY

CREATE, UPDATE = RequestCode.AUTH_CREATE_USER, RequestCode.AUTH_UPDATE_USER
DELETE, GET, LIST = RequestCode.AUTH_DELETE_USER, RequestCode.AUTH_GET_USER, RequestCode.AUTH_LIST_USER
GET_ACL, LIST_ACL = RequestCode.AUTH_GET_ACL, RequestCode.AUTH_LIST_ACL
DELETE_ACL, UPDATE_ACL = RequestCode.AUTH_DELETE_ACL, RequestCode.AUTH_UPDATE_ACL


@remoting_case("AuthenticationMetadataManagerImpl.createUser, updateUser, deleteUser", settings=ACL_STORED_ONLY)
def a_user_is_created_once_and_updates_keep_omitted_values(t: RemotingContext) -> None:
    """A user can be created once, with defaults for missing values, and an update keeps values that it omits.

    Deleting an unknown user succeeds.
    """
    ann, bob = {"username": t.new("user")}, {"username": t.new("user")}
    t.note("nobody", t.request(GET, ann), 0)
    t.note("made", try_create_user(t, ann["username"]), 0)
    t.note("made again", try_create_user(t, ann["username"]), 16)
    t.note("shown", t.request(GET, ann), 0)
    t.note("made of a password", t.request(CREATE, bob, dumps({"password": "b"})), 0)
    t.note("with defaults", t.request(GET, bob), 0)
    t.note("odd words", try_create_user(t, t.new("user"), userType="boss", userStatus="asleep"), 0)
    t.note("updated", t.request(UPDATE, ann, dumps({"userStatus": "DISABLE"})), 0)
    t.note("disabled", t.request(GET, ann), 0)
    t.note("updated with a blank password", t.request(UPDATE, ann, dumps({"password": " ", "userType": "SUPER"})), 0)
    t.note("super", t.request(GET, ann), 0)
    t.note("updated with a password", t.request(UPDATE, ann, dumps({"password": "new", "userStatus": "?"})), 0)
    t.note("new password", t.request(GET, ann), 0)
    t.note("nobody updated", t.request(UPDATE, {"username": t.new("user")}, dumps({"password": "x"})), 16)
    t.note("deleted", t.request(DELETE, ann), 0)
    t.note("gone", t.request(GET, ann), 0)
    t.note("deleted again", t.request(DELETE, ann), 0)


@remoting_case("LocalAuthenticationMetadataProvider.listUser", settings=ACL_STORED_ONLY)
def users_are_listed_by_a_part_of_their_names(t: RemotingContext) -> None:
    """Users are listed by a part of their names, in order.

    A blank filter matches all, and an empty result has no body.
    """
    stem = t.new("stem")
    for name in (f"{stem}b", f"{stem}a", f"x{stem}", f"{stem}B"):
        try_create_user(t, name)
    t.note("by the stem", t.request(LIST, {"filter": stem}), 0)
    t.note("by the end", t.request(LIST, {"filter": f"{stem}a"}), 0)
    t.note("nobody", t.request(LIST, {"filter": f"{stem}z"}), 0)
    listed = t.request(LIST, {"filter": " "})
    t.note("blank", [each["username"] for each in listed.json if stem in each["username"]])


@remoting_case("AdminBrokerProcessor.isNotSuperUserLogin", settings=ACL_STORED_ONLY)
def an_unverified_super_user_access_key_may_change_super_users(t: RemotingContext) -> None:
    """Unsigned requests and those that name a super user can change super users; other requests are rejected."""
    boss, ann = t.new("user"), t.new("user")
    try_create_user(t, boss, userType="Super")
    try_create_user(t, ann)
    for label, who in (("stranger", t.new("user")), ("normal", ann), ("super", boss)):
        signer = {"AccessKey": who}
        made = {"username": t.new("user"), **signer}
        t.note(f"{label} makes", t.request(CREATE, made, dumps({"password": "x", "userType": "Super"})))
        t.note(
            f"{label} makes a normal one",
            t.request(CREATE, {"username": t.new("user"), **signer}, dumps({"password": "x"})),
        )
        t.note(f"{label} promotes", t.request(UPDATE, {"username": ann, **signer}, dumps({"userType": "Super"})))
        t.note(f"{label} changes", t.request(UPDATE, {"username": boss, **signer}, dumps({"password": "y"})))
        t.note(f"{label} deletes", t.request(DELETE, {"username": boss, **signer}))


@remoting_case("AuthorizationMetadataManagerImpl.createAcl, updateAcl", settings=ACL_STORED_ONLY)
def new_acl_entries_replace_only_those_of_the_same_resource(t: RemotingContext) -> None:
    """New entries replace those of the same resource and keep the others. Create and update have the same effect."""
    name = t.new("user")
    of = {"subject": f"User:{name}"}
    t.note("nobody's", try_create_acl(t, name, entry("Topic:a", "Pub")), 16)
    t.note("shown of nobody", t.request(GET_ACL, of), 16)
    try_create_user(t, name)
    t.note("none", t.request(GET_ACL, of), 0)
    t.note("given", try_create_acl(t, name, entry("topic:a", "PUB", "sub"), entry("Group:g*", "All", "?")), 0)
    t.note("shown", t.request(GET_ACL, of), 0)
    t.note("more", try_create_acl(t, name, entry("Topic:b", "Get", sources=("127.0.0.1", "10.0.0.0/8"))), 0)
    t.note("otherwise", try_create_acl(t, name, entry("Topic:a", "List", decision="DENY")), 0)
    t.note("by default", try_create_acl(t, name, entry("*", "Pub"), entry("Cluster:*", "Get"), kind="default"), 0)
    t.note("without a kind", try_create_acl(t, name, entry("Topic:*", "Delete"), kind=None), 0)
    body = {"policies": [{"policyType": "Default", "entries": [entry("Namespace:n", "Create", "Unknown")]}]}
    t.note("updated", t.request(UPDATE_ACL, of, dumps(body)), 0)
    t.note("shown at last", t.request(GET_ACL, of), 0)


@remoting_case("AuthorizationMetadataManagerImpl.deleteAcl", settings=ACL_STORED_ONLY)
def acl_entries_are_deleted_by_resource_or_with_their_user(t: RemotingContext) -> None:
    """Rights are deleted for one resource or all.

    A user without rights is an error, and rights are deleted with their user.
    """
    name = t.new("user")
    of = {"subject": f"User:{name}"}
    t.note("of nobody", t.request(DELETE_ACL, of), 16)
    try_create_user(t, name)
    t.note("of none", t.request(DELETE_ACL, of), 16)
    for kind in ("Custom", "Default"):
        try_create_acl(t, name, entry("Topic:a", "Pub"), entry("Topic:b*", "Pub"), kind=kind)
    t.note("another kind of resource", t.request(DELETE_ACL, {**of, "resource": "Group:a"}), 0)
    t.note("one", t.request(DELETE_ACL, {**of, "resource": "Topic:a"}), 0)
    t.note("a prefix", t.request(DELETE_ACL, {**of, "resource": "Topic:b*", "policyType": "Default"}), 0)
    t.note("left", t.request(GET_ACL, of), 0)
    t.note("the last custom one", t.request(DELETE_ACL, {**of, "resource": "Topic:b*", "policyType": "Custom"}), 0)
    t.note("left then", t.request(GET_ACL, of), 0)
    t.note("the last", t.request(DELETE_ACL, {**of, "resource": "Topic:a", "policyType": "Default"}), 0)
    t.note("nothing left", t.request(GET_ACL, of), 0)
    t.note("once more", t.request(DELETE_ACL, {**of, "resource": "Topic:a"}), 16)
    try_create_acl(t, name, entry("Topic:a", "Pub"))
    t.note("all", t.request(DELETE_ACL, {**of, "policyType": "Default"}), 0)
    t.note("nothing left again", t.request(GET_ACL, of), 0)
    try_create_acl(t, name, entry("Topic:a", "Pub"))
    t.request(DELETE, {"username": name})
    try_create_user(t, name)
    t.note("of a new user of that name", t.request(GET_ACL, of), 0)


@remoting_case("LocalAuthorizationMetadataProvider.listAcl", settings=ACL_STORED_ONLY)
def acls_are_listed_by_parts_of_subject_and_resource(t: RemotingContext) -> None:
    """Rights are listed by parts of subject and resource.

    If the resource filter matches the subject, all rights are listed.
    """
    stem = t.new("stem")
    try_create_user(t, f"{stem}-none")
    for name in (f"{stem}-b", f"{stem}-a"):
        try_create_user(t, name)
        try_create_acl(t, name, entry(f"Topic:{name}", "Pub"), entry("Group:g", "Sub"))
        try_create_acl(t, name, entry("Topic:other", "Pub"), kind="Default")

    def listed(**filters: str) -> object:
        return t.request(LIST_ACL, filters)

    t.note("by subject", listed(subjectFilter=stem))
    t.note("by both", listed(subjectFilter=stem, resourceFilter="Topic:"))
    t.note("by one", listed(subjectFilter=stem, resourceFilter=f"{stem}-a"))
    t.note("by kind of subject", listed(subjectFilter=f"User:{stem}-a", resourceFilter="g"))
    t.note("by no resource", listed(subjectFilter=stem, resourceFilter="nothing"))
    t.note("by no subject", listed(subjectFilter=f"{stem}-none"))


@remoting_case("AuthenticationMetadataManagerImpl.initUser", settings=ACL_ENFORCED)
def the_initial_user_is_a_super_user_protected_from_other_users(t: RemotingContext) -> None:
    """The initial user is created at the start as a super user. Other users cannot change it, even with all rights."""
    cluster = entry("Cluster:*", "All")
    ann: Credentials = user(t, cluster)
    mine = as_user(t, ann)
    t.note("shown", t.request(GET, {"username": "root"}), 0)
    t.note("shown to another", t.request(GET, {"username": "root"}, to=mine), 0)
    t.note("changed by another", t.request(UPDATE, {"username": "root"}, dumps({"password": "x"}), to=mine), 16)
    t.note("deleted by another", t.request(DELETE, {"username": "root"}, to=mine), 16)
    t.note("super by another", try_create_user(t, t.new("user"), to=mine, userType="Super"), 1)
    t.note("normal by another", try_create_user(t, t.new("user"), to=mine), 0)
    t.note("super", try_create_user(t, t.new("user"), userType="Super"), 0)
