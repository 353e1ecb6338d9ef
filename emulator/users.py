"""Users and rights of a broker that keeps none, as it is by itself: nothing names a provider of them.

What is wrong with a request is said first, as upstream does; a good one fails then. Source: AdminBrokerProcessor,
AuthenticationMetadataManagerImpl, AuthorizationMetadataManagerImpl, AclConverter (5.3.3).
"""

from ipaddress import IPv4Interface, ip_address, ip_interface
from typing import NoReturn

from .codes import ResponseCode
from .errors import EngineError
from .gate import Call, Handlers
from .operations import (
    CreateUser,
    DeleteAcl,
    DeleteUser,
    Done,
    GetAcl,
    GetUser,
    ListAcls,
    ListUsers,
    PolicyEntry,
    PutAcl,
    UpdateUser,
    UserInfo,
)

_NOT_CONFIGURED = "java.lang.IllegalStateException: The authenticationMetadataProvider is not configured"
_RESOURCE_TYPES = frozenset({"unknown", "any", "cluster", "namespace", "topic", "group"})
_ACTIONS = frozenset({"unknown", "all", "any", "pub", "sub", "create", "update", "delete", "get", "list"})
_DECISIONS = frozenset({"allow", "deny"})


class Users:
    """Answers for one broker. Every request ends with an EngineError."""

    def handlers(self) -> Handlers:
        """Which operation is carried out by what."""
        return {
            CreateUser: self.create,
            UpdateUser: self.update,
            DeleteUser: self.delete,
            GetUser: self.get,
            ListUsers: self.all,
            PutAcl: self.put_acl,
            DeleteAcl: self.delete_acl,
            GetAcl: self.get_acl,
            ListAcls: self.all_acls,
        }

    def create(self, call: Call, operation: CreateUser) -> Done:
        """Errors: INVALID_PARAMETER (no name), NO_PERMISSION (blank name or password), SYSTEM_ERROR."""
        self._look_at(operation.username, operation.info, operation.signer)
        if not operation.username.strip():
            raise _refused("username can not be blank")
        if not (operation.info.password or "").strip():
            raise _refused("password can not be blank")
        self._nowhere()

    def update(self, call: Call, operation: UpdateUser) -> Done:
        """Errors: INVALID_PARAMETER (no name), NO_PERMISSION (blank name), SYSTEM_ERROR."""
        self._look_at(operation.username, operation.info, operation.signer)
        self._find(operation.username)

    def delete(self, call: Call, operation: DeleteUser) -> Done:
        """Errors: NO_PERMISSION (blank name), SYSTEM_ERROR."""
        self._find(operation.username)

    def get(self, call: Call, operation: GetUser) -> Done:
        """Errors: INVALID_PARAMETER (blank name), SYSTEM_ERROR."""
        if not (operation.username or "").strip():
            raise EngineError(ResponseCode.INVALID_PARAMETER, "The username is blank")
        self._nowhere()

    def all(self, call: Call, operation: ListUsers) -> Done:
        """Errors: SYSTEM_ERROR."""
        self._nowhere()

    def put_acl(self, call: Call, operation: PutAcl) -> Done:
        """Errors: NO_PERMISSION for what is wrong with the rights, SYSTEM_ERROR."""
        if not _is_user(operation.own_subject) and not _is_user(operation.subject):
            self._nowhere()  # upstream's look at the subject fails, and the answer is the same
        if not operation.policies:
            raise _refused("The policies is empty.")
        for entries in operation.policies:
            for entry in entries:
                _check(entry)
        self._nowhere()

    def delete_acl(self, call: Call, operation: DeleteAcl) -> Done:
        """Errors: NO_PERMISSION (no subject), SYSTEM_ERROR."""
        if not _is_user(operation.subject):
            raise _refused("The subject is null.")
        self._nowhere()

    def get_acl(self, call: Call, operation: GetAcl) -> Done:
        """Errors: SYSTEM_ERROR."""
        if not _is_user(operation.subject):
            raise EngineError(
                ResponseCode.SYSTEM_ERROR,
                "java.lang.NullPointerException: Cannot invoke"
                ' "org.apache.rocketmq.auth.authentication.model.Subject.isSubject('
                'org.apache.rocketmq.auth.authentication.enums.SubjectType)" because "subject" is null',
            )
        raise EngineError(ResponseCode.SYSTEM_ERROR, f"{_NOT_CONFIGURED}.")

    def all_acls(self, call: Call, operation: ListAcls) -> Done:
        """Errors: SYSTEM_ERROR."""
        raise EngineError(ResponseCode.SYSTEM_ERROR, f"{_NOT_CONFIGURED}.")

    @staticmethod
    def _look_at(username: str, info: UserInfo, signer: str) -> None:
        if not username:
            raise EngineError(ResponseCode.INVALID_PARAMETER, "The username is blank")
        if signer and (info.user_type or "").lower() == "super":
            # Only one of them may make another; who has signed is looked for, and there is nowhere to look.
            raise EngineError(ResponseCode.SYSTEM_ERROR, f"java.util.concurrent.CompletionException: {_NOT_CONFIGURED}")

    def _find(self, username: str | None) -> NoReturn:
        if not (username or "").strip():
            raise _refused("username can not be blank")
        self._nowhere()

    @staticmethod
    def _nowhere() -> NoReturn:
        raise EngineError(ResponseCode.SYSTEM_ERROR, "An system error occurred, please try again later.")


def _refused(remark: str) -> EngineError:
    return EngineError(ResponseCode.NO_PERMISSION, remark)


def _is_user(subject: str | None) -> bool:
    return (subject or "").partition(":")[0].lower() == "user"


def _check(entry: PolicyEntry) -> None:
    resource = entry.resource or ""
    if not resource.strip() or (resource != "*" and resource.partition(":")[0].lower() not in _RESOURCE_TYPES):
        raise _refused("The resource is null.")
    actions = _ACTIONS.intersection(map(str.lower, entry.actions))
    if not actions:
        raise _refused("The actions is empty.")
    if "any" in actions:
        raise _refused("The actions can not be Any.")
    for source in entry.source_ips:
        if not source.strip():
            raise _refused("The source ip is empty.")
        if not _is_source(source):
            raise _refused("The source ip is invalid.")
    if (entry.decision or "").lower() not in _DECISIONS:
        raise _refused("The decision is null or illegal.")


def _is_source(text: str) -> bool:
    """An address, or a range of them as an address and a number of bits."""
    try:
        if "/" not in text:
            ip_address(text)
            return True
        return isinstance(ip_interface(text), IPv4Interface) is ("." in text) and text.partition("/")[2].isdecimal()
    except ValueError:
        return False
