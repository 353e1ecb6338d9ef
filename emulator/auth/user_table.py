"""Users of a broker and their ACL policies. They survive stops and crashes; slaves do not replicate them.

Source: LocalAuthenticationMetadataProvider, LocalAuthorizationMetadataProvider, AuthenticationMetadataManagerImpl
(5.3.3).
"""

import json
from dataclasses import KW_ONLY, field
from enum import Enum

from ..config import BrokerConfig, ConfigError
from ..kernel.errors import EngineError
from ..kernel.masking import MASK
from ..kernel.response_code import ResponseCode
from ..kernel.value_class import value
from .policies import Acl


class UserType(Enum):
    """Type of a user. Super users need no rights."""

    SUPER = "Super"
    NORMAL = "Normal"


class UserStatus(Enum):
    """Status of a user. Authentication denies disabled users."""

    ENABLE = "enable"
    DISABLE = "disable"


@value
class User:
    """A user and the password that is the key of its signatures."""

    username: str
    password: str = field(repr=False)
    user_type: UserType
    status: UserStatus
    _: KW_ONLY
    acl: Acl | None = None
    """None until a policy is granted."""

    @property
    def is_super(self) -> bool:
        """True for super users, who need no rights."""
        return self.user_type is UserType.SUPER


class UserTable:
    """The user table of one broker. Users and policies are stored only if their metadata providers are configured."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self.users: dict[str, User] = {}

    @property
    def stores_users(self) -> bool:
        """True if the broker stores users: its key `authenticationMetadataProvider` names a class."""
        return bool(self._config.authentication_metadata_provider)

    @property
    def stores_policies(self) -> bool:
        """True if the broker stores policies: its key `authorizationMetadataProvider` names a class."""
        return bool(self._config.authorization_metadata_provider)

    def create_configured_users(self) -> None:
        """Create the configured users that do not exist yet. Raises ConfigError for an unusable value."""
        config = self._config
        for key, text, name, password in (
            ("initAuthenticationUser", config.init_authentication_user, "username", "password"),
            (
                "innerClientAuthenticationCredentials",
                config.inner_client_authentication_credentials,
                "accessKey",
                "secretKey",
            ),
        ):
            if text.strip():
                user = self._configured_user(key, text, name, password)
                self.users.setdefault(user.username, user)

    def _configured_user(self, key: str, text: str, name: str, password: str) -> User:
        try:
            members = json.loads(text)
            username, secret = members[name], members[password]
            if not (isinstance(username, str) and isinstance(secret, str) and username.strip() and secret.strip()):
                raise TypeError("blank")
        except (ValueError, LookupError, TypeError, RecursionError):
            form = f'{{"{name}": "ann", "{password}": "her secret"}}'
            raise ConfigError(f"{key}={MASK}: not of the form {form}; give JSON of that form", key=key) from None
        if not self.stores_users:
            raise ConfigError(f"{key}: the broker stores no users; set authenticationMetadataProvider, too", key=key)
        return User(username, secret, UserType.SUPER, UserStatus.ENABLE)


def permission_error(remark: str) -> EngineError:
    """Build the error for a rejected change of users or policies."""
    return EngineError(ResponseCode.NO_PERMISSION, remark)


def no_provider_error() -> EngineError:
    """Build the error for a metadata provider that is not configured."""
    return EngineError(ResponseCode.SYSTEM_ERROR, "An system error occurred, please try again later.")
