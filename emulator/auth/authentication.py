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
from ..kernel.errors import RejectedBeforeProcessing
from ..kernel.response_code import ResponseCode
from ..kernel.scheduler import Scheduler
from ..kernel.value_class import value
from .policies import Action, Decision, Resource
from .user_table import User, UserStatus, UserTable

_CACHE_MAX = 10_000
"""`stateful*CacheMaxNum`; a full cache is cleared."""


class AccessDenied(RejectedBeforeProcessing):
    """A request was denied: NO_PERMISSION with the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(ResponseCode.NO_PERMISSION, why)


@value
class AccessRequest:
    """A request as access control sees it: its code or name, its connection, and the client's address."""

    name: str
    channel_id: str
    source: str


@value
class RequestSignature:
    """The credentials of a request: a user name, and base64 of HMAC-SHA1 over `content`."""

    username: str | None = None
    signature: str | None = field(default=None, repr=False)
    content: bytes = b""


@value
class RequiredRight:
    """A required right: one of the actions must be allowed on the resource."""

    resource: Resource
    actions: tuple[Action, ...]


class _DecisionCache:
    """Cache of decisions for "stateful" strategies: None (allowed), or the reason of the denial."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._found: dict[object, tuple[int, AccessDenied | None]] = {}

    def get(self, key: object, ttl_ms: int, find: Callable[[], None]) -> None:
        """Return the cached decision, or call `find` and cache its result. Raises AccessDenied."""
        now = self._scheduler.now_ms
        until_ms, denied = self._found.get(key, (0, None))
        if until_ms <= now:
            denied = None
            try:
                find()
            except AccessDenied as refusal:
                denied = refusal
            if len(self._found) >= _CACHE_MAX:
                self._found.clear()
            self._found[key] = now + ttl_ms, denied
        if denied is not None:
            raise denied


class AccessControl:
    """Access control of one run of a broker, or of a proxy.

    `find_user_table` returns the broker's users; None: no broker.
    """

    def __init__(
        self, config: AccessConfig, scheduler: Scheduler, find_user_table: Callable[[], UserTable | None]
    ) -> None:
        self._config = config
        self._find_user_table = find_user_table
        self._users = _DecisionCache(scheduler)
        self._rights = _DecisionCache(scheduler)

    @property
    def is_active(self) -> bool:
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

    def authenticate(self, request: AccessRequest, signed: RequestSignature) -> None:
        """Check the signature of a request. Raises AccessDenied unless a known user has signed it."""
        config = self._config
        if "Stateful" in config.authentication_strategy:
            key = (request.channel_id, (signed.username or "").strip())
            ttl_ms = config.stateful_authentication_cache_expired_second * 1000
            self._users.get(key, ttl_ms, partial(self._authenticate, request, signed))
        else:
            self._authenticate(request, signed)

    def authorize(self, request: AccessRequest, username: str | None, required_rights: Iterable[RequiredRight]) -> None:
        """Check rights of a user (None: unsigned request). Raises AccessDenied for the first one that is missing."""
        config = self._config
        for right in required_rights:
            if "Stateful" in config.authorization_strategy:
                key = (request.channel_id, username, right.resource.key, right.actions, request.source)
                ttl_ms = config.stateful_authorization_cache_expired_second * 1000
                self._rights.get(key, ttl_ms, partial(self._authorize, request, username, right))
            else:
                self._authorize(request, username, right)

    def _authenticate(self, request: AccessRequest, signed: RequestSignature) -> None:
        config = self._config
        if _listed(config.authentication_whitelist, request.name):
            return
        if not config.authentication_metadata_provider:
            raise AccessDenied("The authenticationMetadataProvider is not configured")
        if not signed.username:
            raise AccessDenied("username cannot be null.")
        user_table = self._find_user_table()
        if user_table is None or not user_table.has_user_provider:
            raise AccessDenied("Authentication failed. Please verify the credentials and try again.")
        user = user_table.users.get(signed.username)
        if user is None:
            raise AccessDenied(f"User:{signed.username} is not found.")
        if user.status is UserStatus.DISABLE:
            raise AccessDenied(f"User:{signed.username} is disabled.")
        wanted = signature(user, signed.content)
        if signed.signature is None or not compare_digest(wanted.encode(), signed.signature.encode()):
            raise AccessDenied("check signature failed.")

    def _authorize(self, request: AccessRequest, username: str | None, right: RequiredRight) -> None:
        config = self._config
        if _listed(config.authorization_whitelist, request.name):
            return
        user_table = self._find_user_table()
        if username is None:
            raise AccessDenied(_FAILED)
        if not config.authentication_metadata_provider:
            raise AccessDenied("The authenticationMetadataProvider is not configured")
        if user_table is None or not user_table.has_user_provider:
            raise AccessDenied(_FAILED)
        user = user_table.users.get(username)
        if user is None:
            raise AccessDenied(f"User:{username} not found.")
        if user.is_super:
            return
        if not config.authorization_metadata_provider:
            raise AccessDenied("The authorizationMetadataProvider is not configured")
        if not user_table.has_policy_provider:
            raise AccessDenied(_FAILED)
        entry = user.acl.decisive_entry(right.resource, right.actions, request.source) if user.acl else None
        if entry is None or entry.decision is Decision.DENY:
            why = "no matched policies" if entry is None else "the decision is deny"
            key = right.resource.key
            raise AccessDenied(f"User:{username} has no permission to access {key} from {request.source}, {why}.")


_FAILED = "Authorization failed. Please verify your access rights and try again."


def signature(user: User, content: bytes) -> str:
    """Return a user's signature of `content`; Java encodes a lone surrogate in the password as a question mark."""
    return b64encode(hmac(user.password.encode(errors="replace"), content, sha1).digest()).decode()


def _listed(whitelist: str, name: str) -> bool:
    return bool(whitelist) and name in [each.strip() for each in whitelist.split(",")]
