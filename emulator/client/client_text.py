"""Addresses and versions of clients as text."""

from .client_versions import version_text


def host_port(host: str, port: int) -> str:
    """Return `host:port`, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def sdk_version(number: int) -> str:
    """Return the name of the version number in a heartbeat, such as `V5_3_3`.

    A number above the table of known versions is `HIGHER_VERSION`, and a negative one is its decimal digits.
    """
    return version_text(number) if number >= 0 else str(number)
