"""Access control of a broker or a proxy: verifies the signature of a request, and checks the rights of its user.

Source: AuthenticationEvaluator, AuthorizationEvaluator, their strategies and handlers, AclSigner (5.3.3).
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
"""Default of upstream's `stateful*CacheMaxNum`; a full cache is cleared."""
_AUTHENTICATION_FAILED = "Authentication failed. Please verify the credentials and try again."
_AUTHORIZATION_FAILED = "Authorization failed. Please verify your access rights and try again."
"""Upstream's texts for a denial without a reason of its own, such as an exception in the lookup of the user."""


class AccessDenied(RejectedBeforeProcessing):
    """A request was denied: NO_PERMISSION with the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(ResponseCode.NO_PERMISSION, why)


@value
class AccessRequest:
    """The request to check."""

    name: str
    """The request code for a broker, the full name of the protobuf message for a proxy, as whitelists have them."""
    channel_id: str
    """The client's connection."""
    source: str
    """The client's IP address."""


@value
class RequestSignature:
    """The user who signed a request, the signature, and the signed bytes. An unsigned request has the defaults."""

    username: str | None = None
    signature: str | None = field(default=None, repr=False)
    """Base64 of the HMAC-SHA1 of `content`, whose key is the user's password; None if the request has none."""
    content: bytes = b""
    """Fields and body of a remoting request, or the date header of a gRPC request."""


@value
class RequiredRight:
    """A right that a request requires: one of the actions must be allowed on the resource."""

    resource: Resource
    actions: tuple[Action, ...]


class _DecisionCache:
    """Cached decisions of a stateful strategy."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._decisions: dict[object, tuple[int, AccessDenied | None]] = {}
        """Key -> time at which the decision expires (ms), and the denial (None: allowed)."""

    def check(self, key: object, ttl_ms: int, decide: Callable[[], None]) -> None:
        """Apply the cached decision of a key. If there is none, call `decide` and cache its decision for `ttl_ms`.

        `decide` raises AccessDenied to deny. Raises AccessDenied for a new and for a cached denial.
        """
        now = self._scheduler.now_ms
        expires_ms, denial = self._decisions.get(key, (0, None))
        if expires_ms <= now:
            denial = None
            try:
                decide()
            except AccessDenied as denied:
                denial = denied
            if len(self._decisions) >= _CACHE_MAX:
                self._decisions.clear()
            self._decisions[key] = now + ttl_ms, denial
        if denial is not None:
            raise denial


class AccessControl:
    """Access control of one run of a broker, or of a proxy.

    `config` has the keys of that broker or proxy. `find_user_table` returns the user table of the broker; for a proxy
    that of its first running broker, and None if no broker runs.
    """

    def __init__(
        self, config: AccessConfig, scheduler: Scheduler, find_user_table: Callable[[], UserTable | None]
    ) -> None:
        self._config = config
        self._find_user_table = find_user_table
        self._authentications = _DecisionCache(scheduler)
        self._authorizations = _DecisionCache(scheduler)

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
        """Verify the signature of a request. A request on the whitelist needs none.

        Raises AccessDenied if the user is missing, unknown or disabled, or if the signature does not match. Also raises
        it if there are no users, because no metadata provider is configured or no broker runs. Super users sign, too.
        With the stateful strategy the decision is cached.
        """
        config = self._config
        if "Stateful" in config.authentication_strategy:
            # As in upstream, the key has no signature: until the decision expires, all requests of this user on this
            # connection are allowed after a valid signature, and denied after an invalid one.
            key = (request.channel_id, (signed.username or "").strip())
            ttl_ms = config.stateful_authentication_cache_expired_second * 1000
            self._authentications.check(key, ttl_ms, partial(self._authenticate, request, signed))
        else:
            self._authenticate(request, signed)

    def authorize(self, request: AccessRequest, username: str | None, required_rights: Iterable[RequiredRight]) -> None:
        """Check that a user has the required rights; `username` is None for an unsigned request.

        Requests on the whitelist and super users need no rights. Raises AccessDenied for the first required right that
        is missing; unsigned requests and unknown users have none. Also raises it if a metadata provider is not
        configured, or if no broker runs. With the stateful strategy the decision on each right is cached.
        """
        config = self._config
        for right in required_rights:
            if "Stateful" in config.authorization_strategy:
                key = (request.channel_id, username, right.resource.key, right.actions, request.source)
                ttl_ms = config.stateful_authorization_cache_expired_second * 1000
                self._authorizations.check(key, ttl_ms, partial(self._authorize, request, username, right))
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
        if user_table is None or not user_table.stores_users:
            raise AccessDenied(_AUTHENTICATION_FAILED)
        user = user_table.users.get(signed.username)
        if user is None:
            raise AccessDenied(f"User:{signed.username} is not found.")
        if user.status is UserStatus.DISABLE:
            raise AccessDenied(f"User:{signed.username} is disabled.")
        expected = signature(user, signed.content)
        if signed.signature is None or not compare_digest(expected.encode(), signed.signature.encode()):
            raise AccessDenied("check signature failed.")

    def _authorize(self, request: AccessRequest, username: str | None, right: RequiredRight) -> None:
        config = self._config
        if _listed(config.authorization_whitelist, request.name):
            return
        if username is None:
            raise AccessDenied(_AUTHORIZATION_FAILED)
        if not config.authentication_metadata_provider:
            raise AccessDenied("The authenticationMetadataProvider is not configured")
        user_table = self._find_user_table()
        if user_table is None or not user_table.stores_users:
            raise AccessDenied(_AUTHORIZATION_FAILED)
        user = user_table.users.get(username)
        if user is None:
            raise AccessDenied(f"User:{username} not found.")
        if user.is_super:
            return
        if not config.authorization_metadata_provider:
            raise AccessDenied("The authorizationMetadataProvider is not configured")
        if not user_table.stores_policies:
            raise AccessDenied(_AUTHORIZATION_FAILED)
        entry = user.acl.decisive_entry(right.resource, right.actions, request.source) if user.acl else None
        if entry is None or entry.decision is Decision.DENY:
            why = "no matched policies" if entry is None else "the decision is deny"
            key = right.resource.key
            raise AccessDenied(f"User:{username} has no permission to access {key} from {request.source}, {why}.")


def signature(user: User, content: bytes) -> str:
    """Return a user's signature of `content`, in the form of `RequestSignature.signature`.

    Like Java, it encodes a lone surrogate in the password as a question mark.
    """
    return b64encode(hmac(user.password.encode(errors="replace"), content, sha1).digest()).decode()


def _listed(whitelist: str, name: str) -> bool:
    return bool(whitelist) and name in [each.strip() for each in whitelist.split(",")]
