"""Admin requests for users.

The broker first validates a request, as in upstream. A valid request then fails if the broker stores no users.
Source: AdminBrokerProcessor, AuthenticationMetadataManagerImpl (5.3.3).
"""

from ..assembly.handlers import handles
from ..gate.call import Call
from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode
from ..operations.base import Done
from ..operations.users import CreateUser, DeleteUser, GetUser, ListUsers, UpdateUser, UserInfo, UserResult, UsersResult
from .policies import by_name
from .user_table import User, UserStatus, UserTable, UserType, no_provider_error, permission_error

_AUTHENTICATION_EXCEPTION = "org.apache.rocketmq.auth.authentication.exception.AuthenticationException"
_COMPLETION_EXCEPTION = "java.util.concurrent.CompletionException"
_ONLY_BY_SUPER = "The super user can only be {} by super user"


class UserRequests:
    """Handlers of user requests on one broker."""

    def __init__(self, user_table: UserTable) -> None:
        self._user_table = user_table

    @handles(CreateUser)
    def create(self, call: Call, operation: CreateUser) -> Done:
        """Create a user.

        Raises INVALID_PARAMETER (no name), NO_PERMISSION (blank or known name, blank password), SYSTEM_ERROR.
        """
        info = operation.info
        user_type = self._validated_type(operation.username, info, operation.signer, "create")
        if not operation.username.strip():
            raise permission_error("username can not be blank")
        if not (info.password or "").strip():
            raise permission_error("password can not be blank")
        self._require_provider()
        users = self._user_table.users
        if operation.username in users:
            raise permission_error("The user is existed")
        status = by_name(UserStatus, info.user_status) or UserStatus.ENABLE
        user = User(operation.username, info.password or "", user_type or UserType.NORMAL, status)
        users[user.username] = user
        return Done()

    @handles(UpdateUser)
    def update(self, call: Call, operation: UpdateUser) -> Done:
        """Change a user.

        Raises INVALID_PARAMETER (no name), NO_PERMISSION (blank or unknown name, super user), SYSTEM_ERROR.
        """
        info = operation.info
        user_type = self._validated_type(operation.username, info, operation.signer, "update")
        user = self._find(operation.username)
        if user is None:
            raise permission_error("The user is not exist")
        self._require_super(user, operation.signer)
        if (info.password or "").strip():
            user.password = str(info.password)
        user.user_type = user_type or user.user_type
        user.status = by_name(UserStatus, info.user_status) or user.status
        return Done()

    @handles(DeleteUser)
    def delete(self, call: Call, operation: DeleteUser) -> Done:
        """Delete a user and its policies. Raises NO_PERMISSION (blank name, super user), SYSTEM_ERROR."""
        user = self._find(operation.username)
        if user is not None:
            self._require_super(user, operation.signer)
            del self._user_table.users[user.username]
            if not self._user_table.stores_policies:
                raise no_provider_error()  # after the deletion, as in upstream
        return Done()

    @handles(GetUser)
    def get(self, call: Call, operation: GetUser) -> UserResult:
        """Return a user. Raises INVALID_PARAMETER (blank name), SYSTEM_ERROR."""
        username = operation.username or ""
        if not username.strip():
            raise EngineError(ResponseCode.INVALID_PARAMETER, "The username is blank")
        self._require_provider()
        user = self._user_table.users.get(username)
        return UserResult(username, None if user is None else _user_info(user))

    @handles(ListUsers)
    def all(self, call: Call, operation: ListUsers) -> UsersResult:
        """List users whose names contain a text. Raises SYSTEM_ERROR."""
        self._require_provider()
        wanted = operation.filter if (operation.filter or "").strip() else None
        users = sorted(self._user_table.users.items(), key=lambda item: item[0].encode())
        return UsersResult({name: _user_info(user) for name, user in users if wanted is None or wanted in name})

    def _validated_type(self, username: str, info: UserInfo, signer: str, verb: str) -> UserType | None:
        """Validate a request and return its user type, None if it has no valid one.

        Only an unsigned request (empty `signer`) or a super user may set the type Super. `verb` is for the error text.
        """
        if not username:
            raise EngineError(ResponseCode.INVALID_PARAMETER, "The username is blank")
        user_type = by_name(UserType, info.user_type)
        if user_type is UserType.SUPER and signer:
            if not self._user_table.stores_users:
                why = "java.lang.IllegalStateException: The authenticationMetadataProvider is not configured"
                raise EngineError(ResponseCode.SYSTEM_ERROR, f"{_COMPLETION_EXCEPTION}: {why}")
            signing_user = self._user_table.users.get(signer)
            if signing_user is None:
                why = f"{_AUTHENTICATION_EXCEPTION}: User:{signer} is not found"
                raise EngineError(ResponseCode.SYSTEM_ERROR, f"{_COMPLETION_EXCEPTION}: {why}")
            if not signing_user.is_super:
                raise EngineError(ResponseCode.SYSTEM_ERROR, _ONLY_BY_SUPER.format(verb))
        return user_type

    def _require_super(self, user: User, signer: str) -> None:
        """Raise NO_PERMISSION if a signed request changes a super user and its signer is no super user."""
        if user.is_super and signer:
            signing_user = self._user_table.users.get(signer)
            if signing_user is None:
                raise permission_error(f"User:{signer} is not found")
            if not signing_user.is_super:
                raise permission_error(_ONLY_BY_SUPER.format("update"))

    def _find(self, username: str | None) -> User | None:
        if not (username or "").strip():
            raise permission_error("username can not be blank")
        self._require_provider()
        return self._user_table.users.get(str(username))

    def _require_provider(self) -> None:
        if not self._user_table.stores_users:
            raise no_provider_error()


def _user_info(user: User) -> UserInfo:
    return UserInfo(user.password, user.user_type.value, user.status.value)
