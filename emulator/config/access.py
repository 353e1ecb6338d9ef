"""Keys of AuthConfig (5.3.3): authentication and authorization. A broker and a proxy each have their own."""

from dataclasses import dataclass

from .keys import Config, key

_PACKAGE = "org.apache.rocketmq"


def _keepers(what: str) -> tuple[str, ...]:
    """Return upstream's metadata providers for users or policies: a broker's, and a proxy's that queries a broker."""
    part = what.lower()
    return (
        "",
        f"{_PACKAGE}.auth.{part}.provider.Local{what}MetadataProvider",
        f"{_PACKAGE}.proxy.auth.Proxy{what}MetadataProvider",
    )


def _strategies(what: str) -> tuple[str, ...]:
    """Return upstream's strategies: stateless (checks each request) and stateful (checks the first of a connection)."""
    package = f"{_PACKAGE}.auth.{what.lower()}.strategy"
    return ("", f"{package}.Stateless{what}Strategy", f"{package}.Stateful{what}Strategy")


_KEEPER = (
    "Upstream's class that knows {}; either of them, for here brokers keep them and a proxy asks its first broker."
    " Empty: nobody is known."
)
_STRATEGY = "Upstream's class that looks at each request, which is the default, or remembers what it found."


@dataclass
class AccessConfig(Config):
    """Authentication and authorization."""

    authentication_enabled: bool = key(False, "Requests must be signed by a user that is known.")
    authentication_metadata_provider: str = key("", _KEEPER.format("users"), choices=_keepers("Authentication"))
    authentication_strategy: str = key("", _STRATEGY, choices=_strategies("Authentication"))
    authentication_whitelist: str = key(
        "",
        "Requests that need no signature: request codes at a broker, full names of messages at a proxy"
        " (`apache.rocketmq.v2.QueryRouteRequest`).",
        unit="codes or names, with commas between",
    )
    stateful_authentication_cache_expired_second: int = key(
        60, "How long it is remembered of a connection and a user whether they match.", unit="s", low=0
    )
    authorization_enabled: bool = key(False, "Users must have the right to what they ask for; super users have all.")
    authorization_metadata_provider: str = key("", _KEEPER.format("rights"), choices=_keepers("Authorization"))
    authorization_strategy: str = key("", _STRATEGY, choices=_strategies("Authorization"))
    authorization_whitelist: str = key(
        "", "Requests that need no right, as in `authenticationWhitelist`.", unit="codes or names, with commas between"
    )
    stateful_authorization_cache_expired_second: int = key(
        60, "How long it is remembered whether a user on a connection has a right.", unit="s", low=0
    )
