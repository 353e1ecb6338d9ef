"""Admin requests for ACL policies of users.

A request is validated first, as in upstream. A valid one then fails if no metadata provider is configured.
Source: AdminBrokerProcessor, AuthorizationMetadataManagerImpl, AclConverter (5.3.3).
"""

from ipaddress import IPv4Interface, ip_address, ip_interface

from ..gate.gate import Call, Handlers
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..operations import AclResult, AclsResult, DeleteAcl, Done, GetAcl, ListAcls, PolicyEntry, PolicyInfo, PutAcl
from .policies import Action, Decision, Entry, Policy, PolicyType, Resource, Rights, by_name
from .user_table import Accounts, User, nowhere, refused

_NOT_CONFIGURED = "java.lang.IllegalStateException: The authenticationMetadataProvider is not configured."


class UserRights:
    """Handlers of ACL requests on one broker."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def handlers(self) -> Handlers:
        """Return the handler of each operation."""
        return {
            PutAcl: self.put,
            DeleteAcl: self.delete,
            GetAcl: self.get,
            ListAcls: self.all,
        }

    def put(self, call: Call, operation: PutAcl) -> Done:
        """Grant policies to a user. Raises NO_PERMISSION for an invalid policy or user, SYSTEM_ERROR."""
        username = _user(operation.own_subject)
        if username is None:
            username = _user(operation.subject)
        if username is None:
            raise nowhere()  # upstream fails on the subject with the same response
        if not operation.policies:
            raise refused("The policies is empty.")
        policies = [_policy(each) for each in operation.policies]
        self._must_keep()
        user = self._accounts.users.get(username)
        if user is None:
            raise refused(f"The subject of User:{username} is not exist.")
        user.rights = Rights(tuple(policies)) if user.rights is None else user.rights.updated(policies)
        return Done()

    def delete(self, call: Call, operation: DeleteAcl) -> Done:
        """Delete policies of a user. Raises NO_PERMISSION (no or unknown subject, no policies), SYSTEM_ERROR."""
        username = _user(operation.subject)
        if username is None:
            raise refused("The subject is null.")
        self._must_keep()
        user = self._known(username)
        if user.rights is None:
            raise refused("The acl is not exist.")
        resource = Resource.parse(operation.resource)
        kind = by_name(PolicyType, operation.policy_type) or PolicyType.CUSTOM
        left = None if resource is None else user.rights.without(kind, resource)
        user.rights = left if left and left.policies else None
        return Done()

    def get(self, call: Call, operation: GetAcl) -> AclResult:
        """Return the policies of a user. Raises NO_PERMISSION (unknown subject), SYSTEM_ERROR."""
        username = _user(operation.subject)
        if username is None:
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                "java.lang.NullPointerException: Cannot invoke"
                ' "org.apache.rocketmq.auth.authentication.model.Subject.isSubject('
                'org.apache.rocketmq.auth.authentication.enums.SubjectType)" because "subject" is null',
            )
        self._must_keep(_NOT_CONFIGURED)
        rights = self._known(username).rights
        return AclResult(username, None if rights is None else _shown(rights))

    def all(self, call: Call, operation: ListAcls) -> AclsResult:
        """Return the policies of all users that match the filters. Raises SYSTEM_ERROR."""
        self._must_keep(_NOT_CONFIGURED)
        subjects, resources = operation.subject_filter or "", operation.resource_filter or ""
        found = {}
        for username, user in sorted(self._accounts.users.items(), key=lambda item: item[0].encode()):
            subject = f"User:{username}"
            if user.rights is None or (subjects.strip() and subjects not in subject):
                continue
            policies = _shown(user.rights)
            if resources.strip() and resources not in subject:  # as upstream: a matching subject keeps all entries
                for policy in policies:
                    policy.entries = [entry for entry in policy.entries if resources in (entry.resource or "")]
            policies = [policy for policy in policies if policy.entries]
            if policies:
                found[username] = policies
        return AclsResult(found)

    def _known(self, username: str) -> User:
        user = self._accounts.users.get(username)
        if user is None:
            raise refused("The subject is not exist.")
        return user

    def _must_keep(self, thrown: str | None = None) -> None:
        if not (self._accounts.keep_users and self._accounts.keep_rights):
            raise nowhere() if thrown is None else EngineError(ResponseCode.SYSTEM_ERROR, thrown)


def _user(subject: str | None) -> str | None:
    """Return the name of a subject that is a user, else None."""
    kind, _, name = (subject or "").partition(":")
    return name if kind.lower() == "user" else None


def _policy(info: PolicyInfo) -> Policy:
    kind = by_name(PolicyType, info.policy_type) or PolicyType.CUSTOM
    return Policy(kind, tuple(_entry(each) for each in info.entries))


def _entry(info: PolicyEntry) -> Entry:
    resource = Resource.parse(info.resource)
    if resource is None:
        raise refused("The resource is null.")
    actions = [action for name in info.actions if (action := by_name(Action, name)) is not None]
    if not actions:
        raise refused("The actions is empty.")
    if Action.ANY in actions:
        raise refused("The actions can not be Any.")
    for source in info.source_ips:
        if not source.strip():
            raise refused("The source ip is empty.")
        if not _is_source(source):
            raise refused("The source ip is invalid.")
    decision = by_name(Decision, info.decision)
    if decision is None:
        raise refused("The decision is null or illegal.")
    return Entry(resource, tuple(actions), tuple(info.source_ips), decision)


def _is_source(text: str) -> bool:
    """True for an IP address, or for an address range written as an address and a number of bits."""
    try:
        if "/" not in text:
            ip_address(text)
            return True
        return isinstance(ip_interface(text), IPv4Interface) is ("." in text) and text.partition("/")[2].isdecimal()
    except ValueError:
        return False


def _shown(rights: Rights) -> list[PolicyInfo]:
    return [
        PolicyInfo(policy.kind.value, [_shown_entry(entry) for entry in policy.entries]) for policy in rights.policies
    ]


def _shown_entry(entry: Entry) -> PolicyEntry:
    actions = [action.value for action in entry.actions]
    return PolicyEntry(entry.resource.key, actions, list(entry.sources), entry.decision.value)
