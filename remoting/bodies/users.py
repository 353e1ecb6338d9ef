"""Bodies of users and of their rights. Source: UserInfo, AclInfo (5.3.3)."""

from typing import Any

from rocketmq_testkit.emulator.codes import ResponseCode
from rocketmq_testkit.emulator.errors import EngineError
from rocketmq_testkit.emulator.operations import PolicyEntry, PolicyInfo, UserInfo

from .reading import loads, objects, optional_text, text
from .writing import dumps

_NO_POLICIES = "org.apache.rocketmq.auth.authorization.exception.AuthorizationException: The body of acl is null"


def user(username: str, info: UserInfo) -> bytes:
    """A user."""
    return dumps(_user(username, info))


def users(found: dict[str, UserInfo]) -> bytes:
    """Several."""
    return dumps([_user(username, info) for username, info in found.items()])


def _user(username: str, info: UserInfo) -> dict[str, Any]:
    return {
        "password": info.password,
        "userStatus": info.user_status,
        "userType": info.user_type,
        "username": username,
    }


def user_info(body: bytes) -> UserInfo:
    """A user of a request. Errors: SYSTEM_ERROR without one."""
    members = loads(body) if body else None
    if not isinstance(members, dict):
        raise EngineError(
            ResponseCode.SYSTEM_ERROR,
            "java.lang.NullPointerException: Cannot invoke"
            ' "org.apache.rocketmq.remoting.protocol.body.UserInfo.setUsername(String)" because "userInfo" is null',
        )
    return UserInfo(*(optional_text(members.get(name)) for name in ("password", "userType", "userStatus")))


def acl(body: bytes) -> tuple[str | None, list[PolicyInfo]]:
    """The subject that rights name themselves, and their policies. Errors: SYSTEM_ERROR without any policy."""
    members = loads(body) if body else None
    policies = objects(members.get("policies")) if isinstance(members, dict) else []
    if not isinstance(members, dict) or not policies:
        raise EngineError(ResponseCode.SYSTEM_ERROR, _NO_POLICIES)
    found = [
        PolicyInfo(optional_text(policy.get("policyType")), [_entry(each) for each in objects(policy.get("entries"))])
        for policy in policies
    ]
    return optional_text(members.get("subject")), [policy for policy in found if policy.entries]


def _entry(members: dict[str, Any]) -> PolicyEntry:
    actions = members.get("actions")
    if actions is None:
        raise EngineError(
            ResponseCode.SYSTEM_ERROR,
            'java.lang.NullPointerException: Cannot invoke "java.util.List.iterator()" because the return value of'
            ' "org.apache.rocketmq.remoting.protocol.body.AclInfo$PolicyEntryInfo.getActions()" is null',
        )
    return PolicyEntry(
        optional_text(members.get("resource")),
        _texts(actions),
        _texts(members.get("sourceIps")),
        optional_text(members.get("decision")),
    )


def _texts(value: Any) -> list[str]:
    return [text(each) for each in value] if isinstance(value, list) else []


def rights(username: str, policies: list[PolicyInfo]) -> bytes:
    """The rights of a user."""
    return dumps(_rights(username, policies))


def all_rights(found: dict[str, list[PolicyInfo]]) -> bytes:
    """Those of several."""
    return dumps([_rights(username, policies) for username, policies in found.items()])


def _rights(username: str, policies: list[PolicyInfo]) -> dict[str, Any]:
    return {"policies": [_policy(each) for each in policies], "subject": f"User:{username}"}


def _policy(policy: PolicyInfo) -> dict[str, Any]:
    return {"entries": [_shown(each) for each in policy.entries], "policyType": policy.policy_type}


def _shown(entry: PolicyEntry) -> dict[str, Any]:
    shown = {"actions": entry.actions, "decision": entry.decision, "resource": entry.resource}
    return {**shown, "sourceIps": entry.source_ips} if entry.source_ips else shown
