"""Users and rights of a broker: storage, lifetime, and the decisions of access control."""

from typing import Any

import pytest
from engine_harness import EngineHarness, make_harness, refused
from rocketmq_testkit.emulator.auth.access_control import (
    AccessDenied,
    AccessRequest,
    RequestSignature,
    RequiredRight,
    signature,
)
from rocketmq_testkit.emulator.auth.policies import (
    Acl,
    Action,
    Decision,
    Pattern,
    Policy,
    PolicyEntry,
    PolicyType,
    Resource,
    ResourceType,
    _first,
    topic_resource,
)
from rocketmq_testkit.emulator.auth.user_table import User, UserStatus, UserType
from rocketmq_testkit.emulator.config import ConfigError
from rocketmq_testkit.emulator.config.keys import camel_case
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done, Operation
from rocketmq_testkit.emulator.operations.users import (
    AclResult,
    AclsResult,
    CreateUser,
    DeleteAcl,
    DeleteUser,
    GetAcl,
    GetUser,
    ListAcls,
    ListUsers,
    PolicyEntryInfo,
    PolicyInfo,
    PutAcl,
    UpdateUser,
    UserInfo,
    UserResult,
    UsersResult,
)

PACKAGE = "org.apache.rocketmq.auth"
WITH_PROVIDERS: dict[str, Any] = {
    "authentication_metadata_provider": f"{PACKAGE}.authentication.provider.LocalAuthenticationMetadataProvider",
    "authorization_metadata_provider": f"{PACKAGE}.authorization.provider.LocalAuthorizationMetadataProvider",
}
WITH_ACCESS_CONTROL: dict[str, Any] = {
    **WITH_PROVIDERS,
    "authentication_enabled": True,
    "authorization_enabled": True,
    "init_authentication_user": '{"username": "root", "password": "root-secret"}',
}
ENTRY = PolicyEntryInfo("Topic:orders", ["Pub"], ["10.0.0.1", "10.0.0.0/8", "::1", "fe80::/10"], "Allow")
REQUEST = AccessRequest("310", "channel", "127.0.0.1")


def put_acl(subject: str, *entries: PolicyEntryInfo) -> PutAcl:
    """Return a request that adds entries to the Custom policy of a subject."""
    return PutAcl(None, subject, [PolicyInfo("Custom", list(entries))])


def authentication_error(
    harness: EngineHarness, username: str | None, *, password: str = "secret", content: bytes = b"text"
) -> str | None:
    """Return the error of an authentication; None if it succeeds."""
    signer = User(username or "", password, UserType.NORMAL, UserStatus.ENABLE)
    try:
        harness.broker.access.authenticate(REQUEST, RequestSignature(username, signature(signer, content), content))
    except AccessDenied as denial:
        return f"{denial.code:d}: {denial.remark}"
    return None


def authorization_error(
    harness: EngineHarness, username: str | None, topic: str, action: Action = Action.PUB
) -> str | None:
    """Return the error of an authorization; None if it succeeds."""
    try:
        harness.broker.access.authorize(REQUEST, username, [RequiredRight(topic_resource(topic), (action,))])
    except AccessDenied as denial:
        return denial.remark
    return None


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (CreateUser("ann", UserInfo("secret", None)), ResponseCode.SYSTEM_ERROR),
        (CreateUser("", UserInfo("secret", None)), ResponseCode.INVALID_PARAMETER),
        (CreateUser("ann", UserInfo("", None)), ResponseCode.NO_PERMISSION),
        (UpdateUser("ann", UserInfo("secret", None)), ResponseCode.SYSTEM_ERROR),
        (DeleteUser("ann"), ResponseCode.SYSTEM_ERROR),
        (GetUser("ann"), ResponseCode.SYSTEM_ERROR),
        (ListUsers(None), ResponseCode.SYSTEM_ERROR),
        (put_acl("User:ann", ENTRY), ResponseCode.SYSTEM_ERROR),
        (GetAcl("User:ann"), ResponseCode.SYSTEM_ERROR),
        (ListAcls(None, None), ResponseCode.SYSTEM_ERROR),
        (PutAcl(None, "User:ann", []), ResponseCode.NO_PERMISSION),
        *(
            (put_acl("User:ann", ENTRY, PolicyEntryInfo("*", ["Pub"], [source], "Deny")), ResponseCode.NO_PERMISSION)
            for source in ("", "10.0.0.256", "10.0.0.0/33", "::1/129", "10.0.0.0/255.0.0.0", "*")
        ),
    ],
)
def test_user_requests_without_a_metadata_provider_are_rejected(
    harness: EngineHarness, operation: Operation, code: ResponseCode
) -> None:
    """Without a metadata provider every user request is rejected, after the checks of the request itself."""
    assert refused(harness.engine.submit(harness.broker, operation)).code is code


@pytest.mark.parametrize("event", ["restart", "crash", "stop"])
def test_users_and_rights_survive_a_restart_a_crash_and_a_stop(event: str) -> None:
    """Users and rights survive a restart, a crash and a stop; a deleted initial user is created again."""
    harness = make_harness(**WITH_ACCESS_CONTROL)
    harness.ask(Done, CreateUser("ann", UserInfo("secret", "Normal")))
    harness.ask(Done, put_acl("User:ann", ENTRY))
    harness.ask(Done, DeleteUser("root"))
    before = harness.ask(AclResult, GetAcl("User:ann"))
    if event == "restart":
        harness.engine.restart()
    elif event == "crash":
        harness.engine.crash(power_loss=True)
    else:
        harness.broker.stop()
        harness.broker.start()
    assert harness.ask(UsersResult, ListUsers(None)) == UsersResult(
        {"ann": UserInfo("secret", "Normal", "enable"), "root": UserInfo("root-secret", "Super", "enable")}
    )
    assert harness.ask(AclResult, GetAcl("User:ann")) == before
    assert before.policies == [PolicyInfo("Custom", [ENTRY])]


def test_with_only_a_user_provider_users_are_stored_but_no_rights() -> None:
    """With only a user provider users are stored but no rights; a deletion deletes the user but returns an error."""
    harness = make_harness(authentication_metadata_provider=WITH_PROVIDERS["authentication_metadata_provider"])
    harness.ask(Done, CreateUser("ann", UserInfo("secret", None)))
    for operation in (put_acl("User:ann", ENTRY), DeleteAcl("User:ann"), GetAcl("User:ann"), ListAcls(None, None)):
        assert refused(harness.engine.submit(harness.broker, operation)).code is ResponseCode.SYSTEM_ERROR
    assert refused(harness.engine.submit(harness.broker, DeleteUser("ann"))).code is ResponseCode.SYSTEM_ERROR
    assert harness.ask(UserResult, GetUser("ann")).info is None


def test_user_and_acl_lists_are_filtered_by_name_subject_and_resource() -> None:
    harness = make_harness(**WITH_PROVIDERS)
    for name in ("bob", "ann"):
        harness.ask(Done, CreateUser(name, UserInfo("secret", None)))
    harness.ask(Done, put_acl("User:bob", ENTRY, PolicyEntryInfo("Group:g", ["Sub"], [], "Deny")))
    assert list(harness.ask(UsersResult, ListUsers("b")).users) == ["bob"]
    assert list(harness.ask(UsersResult, ListUsers("")).users) == ["ann", "bob"]
    group = [PolicyInfo("Custom", [PolicyEntryInfo("Group:g", ["Sub"], [], "Deny")])]
    assert harness.ask(AclsResult, ListAcls("User:", "g")) == AclsResult({"bob": group})
    assert harness.ask(AclsResult, ListAcls("User:a", None)) == AclsResult({})
    assert harness.ask(AclsResult, ListAcls("User:", "nothing")) == AclsResult({})


def test_a_right_keeps_the_type_of_its_policy() -> None:
    """Default and Custom are kept; an unknown type counts as Custom."""
    harness = make_harness(**WITH_PROVIDERS)
    harness.ask(Done, CreateUser("bob", UserInfo("secret", None)))
    entry = PolicyEntryInfo("Group:g", ["Sub"], [], "Deny")
    harness.ask(Done, PutAcl(None, "User:bob", [PolicyInfo("Default", [entry])]))
    harness.ask(Done, PutAcl(None, "User:bob", [PolicyInfo("unknown", [entry])]))
    found = harness.ask(AclsResult, ListAcls("User:bob", None)).acls["bob"]
    assert [policy.policy_type for policy in found] == ["Default", "Custom"]


def test_authentication_needs_an_enabled_user_and_a_valid_signature() -> None:
    """Authentication needs a known, enabled user, the right password, and a signature over the sent content."""
    harness = make_harness(**WITH_ACCESS_CONTROL)
    harness.ask(Done, CreateUser("ann", UserInfo("secret", None)))
    assert authentication_error(harness, "ann") is None
    assert authentication_error(harness, "root", password="root-secret") is None
    assert authentication_error(harness, "ann", password="other") == "16: check signature failed."
    assert authentication_error(harness, "bob") == "16: User:bob is not found."
    harness.ask(Done, CreateUser("half", UserInfo("\ud83d", None)))
    assert authentication_error(harness, "half", password="?") is None
    assert authentication_error(harness, "") == authentication_error(harness, None) == "16: username cannot be null."
    harness.ask(Done, UpdateUser("ann", UserInfo(None, None, "disable")))
    assert authentication_error(harness, "ann") == "16: User:ann is disabled."


def test_without_a_metadata_provider_no_user_is_known() -> None:
    """Without a provider no user is known, neither for authentication nor for authorization."""
    harness = make_harness(authentication_enabled=True, authorization_enabled=True)
    reason = "The authenticationMetadataProvider is not configured"
    assert authentication_error(harness, "ann") == f"16: {reason}"
    assert authorization_error(harness, "ann", "orders") == reason
    provider = WITH_PROVIDERS["authentication_metadata_provider"]
    harness = make_harness(authorization_enabled=True, authentication_metadata_provider=provider)
    harness.ask(Done, CreateUser("ann", UserInfo("secret", None)))
    assert authorization_error(harness, "ann", "orders") == "The authorizationMetadataProvider is not configured"
    assert authorization_error(harness, "bob", "orders") == "User:bob not found."
    assert (
        authorization_error(harness, None, "orders")
        == "Authorization failed. Please verify your access rights and try again."
    )


def test_authorization_follows_acl_entries_and_allows_super_users_everything() -> None:
    """A user may do each action that an entry allows. A super user may do every action."""
    harness = make_harness(**WITH_ACCESS_CONTROL)
    harness.ask(Done, CreateUser("ann", UserInfo("secret", None)))
    denial = "User:ann has no permission to access Topic:{} from 127.0.0.1, {}."
    assert authorization_error(harness, "ann", "orders") == denial.format("orders", "no matched policies")
    harness.ask(Done, put_acl("User:ann", PolicyEntryInfo("Topic:order*", ["Pub"], [], "Allow")))
    assert authorization_error(harness, "ann", "orders") is None
    assert authorization_error(harness, "ann", "orders", Action.SUB) == denial.format("orders", "no matched policies")
    harness.ask(Done, put_acl("User:ann", PolicyEntryInfo("Topic:orders", ["All"], ["127.0.0.0/8"], "Deny")))
    assert authorization_error(harness, "ann", "orders") == denial.format("orders", "the decision is deny")
    assert authorization_error(harness, "ann", "order") is None
    assert authorization_error(harness, "root", "orders") is None


def test_the_stateful_strategy_caches_a_decision_for_60_s() -> None:
    """The stateful strategy caches a decision by connection and user for 60 s of engine time; a start clears it."""
    strategy = f"{PACKAGE}.authentication.strategy.StatefulAuthenticationStrategy"
    harness = make_harness(**WITH_ACCESS_CONTROL, authentication_strategy=strategy)
    assert authentication_error(harness, "ann") == "16: User:ann is not found."
    harness.ask(Done, CreateUser("ann", UserInfo("secret", None)))
    assert authentication_error(harness, "ann") == "16: User:ann is not found."
    harness.advance(59_999)
    assert authentication_error(harness, "ann") == "16: User:ann is not found."
    harness.advance(1)
    assert authentication_error(harness, "ann") is None
    assert authentication_error(harness, "ann", password="other") is None
    harness.engine.restart()
    assert authentication_error(harness, "ann", password="other") == "16: check signature failed."


def test_a_cached_decision_stays_when_another_one_is_cached() -> None:
    strategy = f"{PACKAGE}.authentication.strategy.StatefulAuthenticationStrategy"
    harness = make_harness(**WITH_ACCESS_CONTROL, authentication_strategy=strategy)
    for name in ("ann", "bob"):
        assert authentication_error(harness, name) == f"16: User:{name} is not found."
    for name in ("ann", "bob"):
        harness.ask(Done, CreateUser(name, UserInfo("secret", None)))
    assert [authentication_error(harness, name) for name in ("ann", "bob")] == [
        "16: User:ann is not found.",
        "16: User:bob is not found.",
    ]


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ({"init_authentication_user": "ann"}, "initAuthenticationUser=***: not of the form"),
        ({"init_authentication_user": "[1]"}, "not of the form"),
        ({"init_authentication_user": "[" * 100_000}, "not of the form"),
        ({"init_authentication_user": '{"username": "ann"}'}, '"password": "her secret"'),
        ({"init_authentication_user": '{"username": " ", "password": "x"}'}, "not of the form"),
        ({"init_authentication_user": '{"username": 1, "password": "x"}'}, "not of the form"),
        ({"inner_client_authentication_credentials": "{}"}, '"accessKey": "ann", "secretKey"'),
        (
            {"init_authentication_user": '{"username": "a", "password": "b"}', "authentication_metadata_provider": ""},
            "set authenticationMetadataProvider, too",
        ),
    ],
)
def test_a_broker_with_an_invalid_initial_user_does_not_start(keys: dict[str, str], error: str) -> None:
    """A broker with an invalid initial user does not start, and the error names a valid form."""
    with pytest.raises(ConfigError) as raised:
        make_harness(**{**WITH_PROVIDERS, **keys})
    assert error in str(raised.value)
    assert raised.value.key == camel_case(next(iter(keys)))


def test_the_proxys_own_user_is_created_beside_the_initial_user() -> None:
    """The proxy's own user, which signs its requests to the broker, is created beside the initial user."""
    inner = '{"accessKey": "proxy", "secretKey": "proxy-secret"}'
    harness = make_harness(**WITH_ACCESS_CONTROL, inner_client_authentication_credentials=inner)
    assert list(harness.ask(UsersResult, ListUsers(None)).users) == ["proxy", "root"]


@pytest.mark.parametrize("key", ["*", "Topic:orders", "Topic:*", "Group:shop*", "Cluster:c", "Namespace:", "Unknown:x"])
def test_a_resource_key_parses_to_a_resource_with_the_same_key(key: str) -> None:
    found = Resource.parse(key)
    assert found is not None
    assert found.key == key
    assert found.covers(Resource(found.kind, "shop1" if found.kind is ResourceType.GROUP else found.name))


@pytest.mark.parametrize("key", [None, "", " ", "orders", "Queue:orders", ":orders"])
def test_an_invalid_resource_key_parses_to_none(key: str | None) -> None:
    assert Resource.parse(key) is None


def test_an_acl_entry_matches_if_one_of_its_sources_matches() -> None:
    """An entry matches if one of its sources (address or range) does; without sources it matches every address."""
    orders, other = topic_resource("orders"), topic_resource("other")
    for sources, matches_by_source in (
        (("10.0.0.1", "10.1.0.0/16"), {"10.0.0.1": True, "10.1.2.3": True, "10.2.0.1": False}),
        ((), {"10.2.0.1": True}),
    ):
        entry = PolicyEntry(orders, (Action.PUB,), sources, Decision.ALLOW)
        for source, matches in matches_by_source.items():
            assert entry.matches(orders, [Action.SUB, Action.PUB], source) is matches, source
        assert not entry.matches(other, [Action.PUB], "10.0.0.1")
        assert not entry.matches(orders, [Action.SUB], "10.0.0.1")


@pytest.mark.parametrize(
    ("order", "first"),
    [("abc", "a"), ("cba", "a"), ("bca", "a"), ("cab", "a"), ("acb", "a"), ("bac", "a"), ("dcba", "a"), ("cdba", "a")],
)
def test_the_acl_entry_with_the_shortest_prefix_comes_first(order: str, first: str) -> None:
    """The entries have the prefixes a, ab, abc and abcd, in any order."""
    prefixes = {letter: "abcd"[: number + 1] for number, letter in enumerate("abcd")}
    entries = [
        PolicyEntry(Resource(ResourceType.TOPIC, prefixes[each], Pattern.PREFIXED), (Action.PUB,), (), Decision.ALLOW)
        for each in order
    ]
    assert _first(entries).resource.name == prefixes[first]


@pytest.mark.parametrize("decisions", [(Decision.ALLOW, Decision.DENY), (Decision.DENY, Decision.ALLOW)])
def test_of_two_acl_entries_with_one_prefix_the_one_that_allows_comes_first(
    decisions: tuple[Decision, Decision],
) -> None:
    resource = Resource(ResourceType.TOPIC, "or", Pattern.PREFIXED)
    entries = [PolicyEntry(resource, (Action.PUB,), (), decision) for decision in decisions]
    assert _first(entries).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("address", "source", "within"),
    [
        ("10.0.0.0", "10.0.0.0/8", True),
        ("10.255.255.255", "10.0.0.0/8", True),
        ("11.0.0.0", "10.0.0.0/8", False),
        ("9.255.255.255", "10.0.0.0/8", False),
        ("10.1.2.3", "10.9.9.9/8", True),
        ("10.0.0.1", "10.0.0.1/32", True),
        ("10.0.0.2", "10.0.0.1/32", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.2", "10.0.0.1", False),
        ("1.2.3.4", "0.0.0.0/0", True),
    ],
)
def test_an_address_range_includes_its_first_and_its_last_address(address: str, source: str, within: bool) -> None:
    entry = PolicyEntry(topic_resource("T"), (Action.PUB,), (source,), Decision.ALLOW)
    assert entry.matches(topic_resource("T"), [Action.PUB], address) is within


def rights(**kinds: str) -> Acl:
    """Return an ACL with a policy of each type in `kinds`; each letter of a value is a topic with an entry."""
    policies = [
        Policy(
            PolicyType[kind],
            tuple(PolicyEntry(topic_resource(each), (Action.PUB,), (), Decision.ALLOW) for each in topics),
        )
        for kind, topics in kinds.items()
    ]
    return Acl(tuple(policies))


@pytest.mark.parametrize(
    ("kind", "topic", "left"),
    [
        ("CUSTOM", "a", {"CUSTOM": "bc", "DEFAULT": "a"}),
        ("CUSTOM", "b", {"CUSTOM": "ac", "DEFAULT": "a"}),
        ("CUSTOM", "x", {"CUSTOM": "abc", "DEFAULT": "a"}),
        ("DEFAULT", "a", {"CUSTOM": "abc"}),
        ("DEFAULT", "b", {"CUSTOM": "abc", "DEFAULT": "a"}),
    ],
)
def test_removing_a_right_changes_only_its_own_policy(kind: str, topic: str, left: dict[str, str]) -> None:
    """Removing a right changes only its own policy, and deletes a policy that has no entries left."""
    before = rights(CUSTOM="abc", DEFAULT="a")
    assert before.without_entry(PolicyType[kind], topic_resource(topic)) == rights(**left)


def test_removing_a_right_from_a_missing_policy_changes_nothing() -> None:
    assert rights(CUSTOM="a").without_entry(PolicyType.DEFAULT, topic_resource("a")) == rights(CUSTOM="a")


@pytest.mark.parametrize("subject", [None, "", "alice", "Group:alice"])
def test_rights_of_a_subject_that_is_not_a_user_are_rejected_first(subject: str | None) -> None:
    """Rights of a subject that is no user are rejected first, with the text of upstream's failed lookup."""
    harness = make_harness(**WITH_PROVIDERS)
    call = harness.engine.submit(harness.broker, PutAcl(None, subject, []))
    known = harness.engine.submit(harness.broker, PutAcl(None, "User:alice", []))
    assert refused(call).remark != refused(known).remark
    assert "policies is empty" in (refused(known).remark or "")


def test_only_super_users_can_change_a_super_user() -> None:
    """With authentication enabled, only a request that a super user signed can change a super user."""
    harness = make_harness(**WITH_ACCESS_CONTROL)
    for name, kind in (("other", "Super"), ("ann", "Normal")):
        harness.ask(Done, CreateUser(name, UserInfo(f"{name}-secret", kind), "root"))
    for signer, allowed in (("ann", False), ("nobody", False), ("root", True), ("", True)):
        for operation in (UpdateUser("other", UserInfo("new-secret", None), signer), DeleteUser("other", signer)):
            if allowed and isinstance(operation, DeleteUser) and signer == "root":
                continue
            call = harness.engine.submit(harness.broker, operation)
            assert isinstance(call.outcome, EngineError) is not allowed, (signer, operation)
