"""Authentication and authorization of requests: the signature, and the rights of the user. Same for broker and proxy.

Source: AuthenticationEvaluator, AuthorizationEvaluator and what they call, AclSigner (5.3.3).
"""

from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial
from hashlib import sha1
from hmac import compare_digest
from hmac import new as hmac

from ..config import AccessConfig
from ..kernel.errors import TurnedAway
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import value
from .policies import Action, Decision, Resource
from .user_table import Accounts, User, UserStatus

_MOST_REMEMBERED = 10_000
"""`stateful*CacheMaxNum`; a full cache is cleared."""


class AccessDenied(TurnedAway):
    """A request was denied: NO_PERMISSION with the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(ResponseCode.NO_PERMISSION, why)


@value
class Asking:
    """A request as access control sees it: its code or name, its connection, and the client's address."""

    request: str
    channel_id: str
    source: str


@value
class Signed:
    """The credentials of a request: a user name, and base64 of HMAC-SHA1 over `content`."""

    username: str | None = None
    signature: str | None = field(default=None, repr=False)
    content: bytes = b""


@value
class Need:
    """A required right: one of the actions must be allowed on the resource."""

    resource: Resource
    actions: tuple[Action, ...]


class _Memory:
    """Cache of decisions for "stateful" strategies: None (allowed), or the reason of the denial."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._found: dict[object, tuple[int, AccessDenied | None]] = {}

    def recall(self, key: object, lasts_ms: int, find: Callable[[], None]) -> None:
        """Return the cached decision, or call `find` and cache its result. Raises AccessDenied."""
        now = self._scheduler.now_ms
        until_ms, denied = self._found.get(key, (0, None))
        if until_ms <= now:
            denied = None
            try:
                find()
            except AccessDenied as refusal:
                denied = refusal
            if len(self._found) >= _MOST_REMEMBERED:
                self._found.clear()
            self._found[key] = now + lasts_ms, denied
        if denied is not None:
            raise denied


class Access:
    """Access control of one run of a broker, or of a proxy. `accounts` returns the broker's users; None: no broker."""

    def __init__(self, config: AccessConfig, scheduler: Scheduler, accounts: Callable[[], Accounts | None]) -> None:
        self._config = config
        self._accounts = accounts
        self._users = _Memory(scheduler)
        self._rights = _Memory(scheduler)

    @property
    def on(self) -> bool:
        """True if any request is checked."""
        return self._config.authentication_enabled or self._config.authorization_enabled

    @property
    def authenticates(self) -> bool:
        """True if requests must be signed."""
        return self._config.authentication_enabled

    @property
    def authorizes(self) -> bool:
        """True if users need rights."""
        return self._config.authorization_enabled

    def authenticate(self, asking: Asking, signed: Signed) -> None:
        """Check the signature of a request. Raises AccessDenied unless a known user has signed it."""
        config = self._config
        if "Stateful" in config.authentication_strategy:
            key = (asking.channel_id, (signed.username or "").strip())
            lasts_ms = config.stateful_authentication_cache_expired_second * 1000
            self._users.recall(key, lasts_ms, partial(self._authenticate, asking, signed))
        else:
            self._authenticate(asking, signed)

    def authorize(self, asking: Asking, username: str | None, needs: Iterable[Need]) -> None:
        """Check rights of a user (None: unsigned request). Raises AccessDenied for the first one that is missing."""
        config = self._config
        for need in needs:
            if "Stateful" in config.authorization_strategy:
                key = (asking.channel_id, username, need.resource.key, need.actions, asking.source)
                lasts_ms = config.stateful_authorization_cache_expired_second * 1000
                self._rights.recall(key, lasts_ms, partial(self._authorize, asking, username, need))
            else:
                self._authorize(asking, username, need)

    def _authenticate(self, asking: Asking, signed: Signed) -> None:
        config = self._config
        if _listed(config.authentication_whitelist, asking.request):
            return
        if not config.authentication_metadata_provider:
            raise AccessDenied("The authenticationMetadataProvider is not configured")
        if not signed.username:
            raise AccessDenied("username cannot be null.")
        accounts = self._accounts()
        if accounts is None or not accounts.keep_users:
            raise AccessDenied("Authentication failed. Please verify the credentials and try again.")
        user = accounts.users.get(signed.username)
        if user is None:
            raise AccessDenied(f"User:{signed.username} is not found.")
        if user.status is UserStatus.DISABLE:
            raise AccessDenied(f"User:{signed.username} is disabled.")
        wanted = signature(user, signed.content)
        if signed.signature is None or not compare_digest(wanted.encode(), signed.signature.encode()):
            raise AccessDenied("check signature failed.")

    def _authorize(self, asking: Asking, username: str | None, need: Need) -> None:
        config = self._config
        if _listed(config.authorization_whitelist, asking.request):
            return
        accounts = self._accounts()
        if username is None:
            raise AccessDenied(_FAILED)
        if not config.authentication_metadata_provider:
            raise AccessDenied("The authenticationMetadataProvider is not configured")
        if accounts is None or not accounts.keep_users:
            raise AccessDenied(_FAILED)
        user = accounts.users.get(username)
        if user is None:
            raise AccessDenied(f"User:{username} not found.")
        if user.is_super:
            return
        if not config.authorization_metadata_provider:
            raise AccessDenied("The authorizationMetadataProvider is not configured")
        if not accounts.keep_rights:
            raise AccessDenied(_FAILED)
        entry = user.rights.decisive(need.resource, need.actions, asking.source) if user.rights else None
        if entry is None or entry.decision is Decision.DENY:
            why = "no matched policies" if entry is None else "the decision is deny"
            key = need.resource.key
            raise AccessDenied(f"User:{username} has no permission to access {key} from {asking.source}, {why}.")


_FAILED = "Authorization failed. Please verify your access rights and try again."


def signature(user: User, content: bytes) -> str:
    """Return a user's signature of `content`; Java encodes a lone surrogate in the password as a question mark."""
    return b64encode(hmac(user.password.encode(errors="replace"), content, sha1).digest()).decode()


def _listed(whitelist: str, request: str) -> bool:
    return bool(whitelist) and request in [each.strip() for each in whitelist.split(",")]
