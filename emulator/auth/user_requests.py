"""Admin requests for users.

A request is validated first, as in upstream. A valid one then fails if no metadata provider for users is configured.
Source: AdminBrokerProcessor, AuthenticationMetadataManagerImpl (5.3.3).
"""

from ..gate.gate import Call, Handlers
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..operations import CreateUser, DeleteUser, Done, GetUser, ListUsers, UpdateUser, UserInfo, UserResult, UsersResult
from .acl_requests import UserRights
from .policies import by_name
from .user_table import Accounts, User, UserStatus, UserType, nowhere, refused

_EXCEPTION = "org.apache.rocketmq.auth.authentication.exception.AuthenticationException"
_THROWN = "java.util.concurrent.CompletionException"
_ONLY_BY_SUPER = "The super user can only be {} by super user"


class Users:
    """Handlers of user requests on one broker."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def handlers(self) -> Handlers:
        """Return the handler of each operation, including ACL requests."""
        return {
            **UserRights(self._accounts).handlers(),
            CreateUser: self.create,
            UpdateUser: self.update,
            DeleteUser: self.delete,
            GetUser: self.get,
            ListUsers: self.all,
        }

    def create(self, call: Call, operation: CreateUser) -> Done:
        """Create a user.

        Raises INVALID_PARAMETER (no name), NO_PERMISSION (blank or known name, blank password), SYSTEM_ERROR.
        """
        info = operation.info
        user_type = self._look_at(operation.username, info, operation.signer, "create")
        if not operation.username.strip():
            raise refused("username can not be blank")
        if not (info.password or "").strip():
            raise refused("password can not be blank")
        self._must_keep()
        users = self._accounts.users
        if operation.username in users:
            raise refused("The user is existed")
        status = by_name(UserStatus, info.user_status) or UserStatus.ENABLE
        user = User(operation.username, info.password or "", user_type or UserType.NORMAL, status)
        users[user.username] = user
        return Done()

    def update(self, call: Call, operation: UpdateUser) -> Done:
        """Change a user.

        Raises INVALID_PARAMETER (no name), NO_PERMISSION (blank or unknown name, super user), SYSTEM_ERROR.
        """
        info = operation.info
        user_type = self._look_at(operation.username, info, operation.signer, "update")
        user = self._find(operation.username)
        if user is None:
            raise refused("The user is not exist")
        self._only_by_super(user, operation.signer)
        if (info.password or "").strip():
            user.password = str(info.password)
        user.user_type = user_type or user.user_type
        user.status = by_name(UserStatus, info.user_status) or user.status
        return Done()

    def delete(self, call: Call, operation: DeleteUser) -> Done:
        """Delete a user and its policies. Raises NO_PERMISSION (blank name, super user), SYSTEM_ERROR."""
        user = self._find(operation.username)
        if user is not None:
            self._only_by_super(user, operation.signer)
            del self._accounts.users[user.username]
            if not self._accounts.keep_rights:
                raise nowhere()  # after the deletion, as in upstream
        return Done()

    def get(self, call: Call, operation: GetUser) -> UserResult:
        """Return a user. Raises INVALID_PARAMETER (blank name), SYSTEM_ERROR."""
        username = operation.username or ""
        if not username.strip():
            raise EngineError(ResponseCode.INVALID_PARAMETER, "The username is blank")
        self._must_keep()
        user = self._accounts.users.get(username)
        return UserResult(username, None if user is None else _shown(user))

    def all(self, call: Call, operation: ListUsers) -> UsersResult:
        """List users whose names contain a text. Raises SYSTEM_ERROR."""
        self._must_keep()
        wanted = operation.filter if (operation.filter or "").strip() else None
        users = sorted(self._accounts.users.items(), key=lambda item: item[0].encode())
        return UsersResult({name: _shown(user) for name, user in users if wanted is None or wanted in name})

    def _look_at(self, username: str, info: UserInfo, signer: str, what: str) -> UserType | None:
        """Validate a request and return its user type. Type Super needs an unsigned request or a super user."""
        if not username:
            raise EngineError(ResponseCode.INVALID_PARAMETER, "The username is blank")
        user_type = by_name(UserType, info.user_type)
        if user_type is UserType.SUPER and signer:
            if not self._accounts.keep_users:
                why = "java.lang.IllegalStateException: The authenticationMetadataProvider is not configured"
                raise EngineError(ResponseCode.SYSTEM_ERROR, f"{_THROWN}: {why}")
            who = self._accounts.users.get(signer)
            if who is None:
                raise EngineError(ResponseCode.SYSTEM_ERROR, f"{_THROWN}: {_EXCEPTION}: User:{signer} is not found")
            if not who.is_super:
                raise EngineError(ResponseCode.SYSTEM_ERROR, _ONLY_BY_SUPER.format(what))
        return user_type

    def _only_by_super(self, user: User, signer: str) -> None:
        if user.is_super and signer:
            who = self._accounts.users.get(signer)
            if who is None:
                raise refused(f"User:{signer} is not found")
            if not who.is_super:
                raise refused(_ONLY_BY_SUPER.format("update"))

    def _find(self, username: str | None) -> User | None:
        if not (username or "").strip():
            raise refused("username can not be blank")
        self._must_keep()
        return self._accounts.users.get(str(username))

    def _must_keep(self) -> None:
        if not self._accounts.keep_users:
            raise nowhere()


def _shown(user: User) -> UserInfo:
    return UserInfo(user.password, user.user_type.value, user.status.value)
