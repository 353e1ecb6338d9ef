"""Keys of AuthConfig (5.3.3): authentication and authorization. A broker and a proxy each have their own."""

from dataclasses import dataclass

from .keys import Config, key

_PACKAGE = "org.apache.rocketmq"


def local_metadata_provider(what: str) -> str:
    """Return upstream's class that stores the users (`Authentication`) or the rights (`Authorization`) of a broker."""
    return f"{_PACKAGE}.auth.{what.lower()}.provider.Local{what}MetadataProvider"


def _metadata_providers(what: str) -> tuple[str, ...]:
    """Return upstream's metadata providers for users or policies: a broker's, and a proxy's that queries a broker."""
    return "", local_metadata_provider(what), f"{_PACKAGE}.proxy.auth.Proxy{what}MetadataProvider"


def _strategies(what: str) -> tuple[str, ...]:
    """Return upstream's strategies: stateless (checks each request) and stateful (checks the first of a connection)."""
    package = f"{_PACKAGE}.auth.{what.lower()}.strategy"
    return ("", f"{package}.Stateless{what}Strategy", f"{package}.Stateful{what}Strategy")


_METADATA_PROVIDER = (
    "Upstream's class that provides {0}; empty = there are no {0}. Both classes have the same effect: brokers store"
    " {0}, and a proxy reads them from its first running broker."
)
_STRATEGY = "Upstream's class that checks every request (the default), or that caches its results."


@dataclass(repr=False, eq=False, kw_only=True)
class AccessConfig(Config):
    """Authentication and authorization."""

    authentication_enabled: bool = key(False, "Requests must be signed by an existing user.")
    authentication_metadata_provider: str = key(
        "", _METADATA_PROVIDER.format("users"), choices=_metadata_providers("Authentication")
    )
    authentication_strategy: str = key("", _STRATEGY, choices=_strategies("Authentication"))
    authentication_whitelist: str = key(
        "",
        "Requests that need no signature: request codes for a broker, full names of messages for a proxy"
        " (`apache.rocketmq.v2.QueryRouteRequest`).",
        unit="codes or names, separated by commas",
    )
    stateful_authentication_cache_expired_second: int = key(
        60,
        "Time for which the result of an authentication is cached by connection and user (stateful strategy).",
        unit="s",
        low=0,
    )
    authorization_enabled: bool = key(
        False, "Users must have the rights that their requests require; super users have all rights."
    )
    authorization_metadata_provider: str = key(
        "", _METADATA_PROVIDER.format("rights"), choices=_metadata_providers("Authorization")
    )
    authorization_strategy: str = key("", _STRATEGY, choices=_strategies("Authorization"))
    authorization_whitelist: str = key(
        "",
        "Requests that need no right, in the form of `authenticationWhitelist`.",
        unit="codes or names, separated by commas",
    )
    stateful_authorization_cache_expired_second: int = key(
        60,
        "Time for which the decision about a right is cached by connection, user, resource, actions and address"
        " (stateful strategy).",
        unit="s",
        low=0,
    )
