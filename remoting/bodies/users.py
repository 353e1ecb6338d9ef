"""Bodies of users and their ACL policies. Source: UserInfo, AclInfo (5.3.3)."""

from dataclasses import field
from typing import Any

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.users import PolicyEntryInfo, PolicyInfo, UserInfo

from .bean import Bean, bean
from .writing import dumps


def user(username: str, info: UserInfo) -> bytes:
    """Write one user."""
    return dumps(_user_members(username, info))


def users(found: dict[str, UserInfo]) -> bytes:
    """Write several users."""
    return dumps([_user_members(username, info) for username, info in found.items()])


def _user_members(username: str, info: UserInfo) -> dict[str, Any]:
    return {
        "password": info.password,
        "userStatus": info.user_status,
        "userType": info.user_type,
        "username": username,
    }


@bean
class UserBody(Bean):
    """A user without its name."""

    MISSING_BODY_REMARK = (
        "java.lang.NullPointerException: Cannot invoke"
        ' "org.apache.rocketmq.remoting.protocol.body.UserInfo.setUsername(String)" because "userInfo" is null'
    )

    password: str | None = None
    user_type: str | None = None
    user_status: str | None = None

    def info(self) -> UserInfo:
        """Convert the user."""
        return UserInfo(self.password, self.user_type, self.user_status)


@bean
class EntryBody(Bean):
    """An entry of an ACL policy."""

    resource: str | None = None
    actions: list[str] | None = None
    source_ips: list[str] = field(default_factory=list)
    decision: str | None = None


@bean
class PolicyBody(Bean):
    """An ACL policy."""

    policy_type: str | None = None
    entries: list[EntryBody] = field(default_factory=list)


@bean
class AclBody(Bean):
    """The ACL policies of a subject."""

    MISSING_BODY_REMARK = (
        "org.apache.rocketmq.auth.authorization.exception.AuthorizationException: The body of acl is null"
    )

    subject: str | None = None
    policies: list[PolicyBody] = field(default_factory=list)

    def infos(self) -> list[PolicyInfo]:
        """Convert the policies that have entries. Raises SYSTEM_ERROR if there is no policy."""
        if not self.policies:
            raise EngineError(ResponseCode.SYSTEM_ERROR, self.MISSING_BODY_REMARK)
        found = [PolicyInfo(policy.policy_type, [_entry(each) for each in policy.entries]) for policy in self.policies]
        return [policy for policy in found if policy.entries]


def _entry(body: EntryBody) -> PolicyEntryInfo:
    if body.actions is None:
        raise EngineError(
            ResponseCode.SYSTEM_ERROR,
            'java.lang.NullPointerException: Cannot invoke "java.util.List.iterator()" because the return value of'
            ' "org.apache.rocketmq.remoting.protocol.body.AclInfo$PolicyEntryInfo.getActions()" is null',
        )
    return PolicyEntryInfo(body.resource, body.actions, body.source_ips, body.decision)


def acl(username: str, policies: list[PolicyInfo]) -> bytes:
    """Write the ACL policies of one user."""
    return dumps(_acl_members(username, policies))


def all_acls(found: dict[str, list[PolicyInfo]]) -> bytes:
    """Write the ACL policies of several users."""
    return dumps([_acl_members(username, policies) for username, policies in found.items()])


def _acl_members(username: str, policies: list[PolicyInfo]) -> dict[str, Any]:
    return {"policies": [_policy_members(each) for each in policies], "subject": f"User:{username}"}


def _policy_members(policy: PolicyInfo) -> dict[str, Any]:
    return {"entries": [_entry_members(each) for each in policy.entries], "policyType": policy.policy_type}


def _entry_members(entry: PolicyEntryInfo) -> dict[str, Any]:
    members = {"actions": entry.actions, "decision": entry.decision, "resource": entry.resource}
    return {**members, "sourceIps": entry.source_ips} if entry.source_ips else members
