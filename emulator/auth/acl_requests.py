"""Admin requests for ACL policies of users.

The broker first validates a request, as in upstream. A valid request then fails if the broker does not store users and
policies.
Source: AdminBrokerProcessor, AuthorizationMetadataManagerImpl, AclConverter (5.3.3).
"""

from ipaddress import IPv4Interface, ip_address, ip_interface

from ..assembly.handlers import handles
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..operations.base import Done
from ..operations.users import AclResult, AclsResult, DeleteAcl, GetAcl, ListAcls, PolicyEntryInfo, PolicyInfo, PutAcl
from .policies import Acl, Action, Decision, Policy, PolicyEntry, PolicyType, Resource, by_name
from .user_table import User, UserTable, no_provider_error, permission_error

_NOT_CONFIGURED = "java.lang.IllegalStateException: The authenticationMetadataProvider is not configured."


class AclRequests:
    """Handlers of ACL requests on one broker."""

    def __init__(self, user_table: UserTable) -> None:
        self._user_table = user_table

    @handles(PutAcl)
    def put(self, call: Call, operation: PutAcl) -> Done:
        """Grant policies to a user. Raises NO_PERMISSION for an invalid policy or user, SYSTEM_ERROR."""
        username = _username(operation.own_subject)
        if username is None:
            username = _username(operation.subject)
        if username is None:
            raise no_provider_error()  # upstream fails on the subject with the same response
        if not operation.policies:
            raise permission_error("The policies is empty.")
        policies = [_policy(each) for each in operation.policies]
        self._require_providers()
        user = self._user_table.users.get(username)
        if user is None:
            raise permission_error(f"The subject of User:{username} is not exist.")
        user.acl = Acl(tuple(policies)) if user.acl is None else user.acl.updated(policies)
        return Done()

    @handles(DeleteAcl)
    def delete(self, call: Call, operation: DeleteAcl) -> Done:
        """Delete policies of a user. Raises NO_PERMISSION (no or unknown subject, no policies), SYSTEM_ERROR."""
        username = _username(operation.subject)
        if username is None:
            raise permission_error("The subject is null.")
        self._require_providers()
        user = self._known_user(username)
        if user.acl is None:
            raise permission_error("The acl is not exist.")
        resource = Resource.parse(operation.resource)
        kind = by_name(PolicyType, operation.policy_type) or PolicyType.CUSTOM
        remaining = None if resource is None else user.acl.without_entry(kind, resource)
        user.acl = remaining if remaining and remaining.policies else None
        return Done()

    @handles(GetAcl)
    def get(self, call: Call, operation: GetAcl) -> AclResult:
        """Return the policies of a user. Raises NO_PERMISSION (unknown subject), SYSTEM_ERROR."""
        username = _username(operation.subject)
        if username is None:
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                "java.lang.NullPointerException: Cannot invoke"
                ' "org.apache.rocketmq.auth.authentication.model.Subject.isSubject('
                'org.apache.rocketmq.auth.authentication.enums.SubjectType)" because "subject" is null',
            )
        self._require_providers(_NOT_CONFIGURED)
        acl = self._known_user(username).acl
        return AclResult(username, None if acl is None else _policy_infos(acl))

    @handles(ListAcls)
    def all(self, call: Call, operation: ListAcls) -> AclsResult:
        """Return the policies of all users that match the filters. Raises SYSTEM_ERROR."""
        self._require_providers(_NOT_CONFIGURED)
        subjects, resources = operation.subject_filter or "", operation.resource_filter or ""
        found = {}
        for username, user in sorted(self._user_table.users.items(), key=lambda item: item[0].encode()):
            subject = f"User:{username}"
            if user.acl is None or (subjects.strip() and subjects not in subject):
                continue
            policies = _policy_infos(user.acl)
            if resources.strip() and resources not in subject:  # as upstream: a matching subject keeps all entries
                for policy in policies:
                    policy.entries = [entry for entry in policy.entries if resources in (entry.resource or "")]
            policies = [policy for policy in policies if policy.entries]
            if policies:
                found[username] = policies
        return AclsResult(found)

    def _known_user(self, username: str) -> User:
        user = self._user_table.users.get(username)
        if user is None:
            raise permission_error("The subject is not exist.")
        return user

    def _require_providers(self, remark: str | None = None) -> None:
        """Raise SYSTEM_ERROR if the broker does not store users and policies. `remark` replaces the usual remark."""
        if not (self._user_table.stores_users and self._user_table.stores_policies):
            raise no_provider_error() if remark is None else EngineError(ResponseCode.SYSTEM_ERROR, remark)


def _username(subject: str | None) -> str | None:
    """Return the name of a subject that is a user, else None."""
    kind, _, name = (subject or "").partition(":")
    return name if kind.lower() == "user" else None


def _policy(info: PolicyInfo) -> Policy:
    kind = by_name(PolicyType, info.policy_type) or PolicyType.CUSTOM
    return Policy(kind, tuple(_entry(each) for each in info.entries))


def _entry(info: PolicyEntryInfo) -> PolicyEntry:
    resource = Resource.parse(info.resource)
    if resource is None:
        raise permission_error("The resource is null.")
    actions = [action for name in info.actions if (action := by_name(Action, name)) is not None]
    if not actions:
        raise permission_error("The actions is empty.")
    if Action.ANY in actions:
        raise permission_error("The actions can not be Any.")
    for source in info.source_ips:
        if not source.strip():
            raise permission_error("The source ip is empty.")
        if not _is_source(source):
            raise permission_error("The source ip is invalid.")
    decision = by_name(Decision, info.decision)
    if decision is None:
        raise permission_error("The decision is null or illegal.")
    return PolicyEntry(resource, tuple(actions), tuple(info.source_ips), decision)


def _is_source(text: str) -> bool:
    """True for an IP address, or for an address range written as an address and a number of bits."""
    try:
        if "/" not in text:
            ip_address(text)
            return True
        return isinstance(ip_interface(text), IPv4Interface) is ("." in text) and text.partition("/")[2].isdecimal()
    except ValueError:
        return False


def _policy_infos(acl: Acl) -> list[PolicyInfo]:
    return [PolicyInfo(policy.kind.value, [_entry_info(entry) for entry in policy.entries]) for policy in acl.policies]


def _entry_info(entry: PolicyEntry) -> PolicyEntryInfo:
    actions = [action.value for action in entry.actions]
    return PolicyEntryInfo(entry.resource.key, actions, list(entry.sources), entry.decision.value)
