"""Masks passwords, secret keys and tokens in the journal, in errors and in listings."""

from collections.abc import Mapping
from typing import Any

MASK = "***"
_NAMES = ("password", "secret", "credential", "initauthenticationuser", "token", "signature")
"""A key whose name contains one of these holds a secret."""
_MEMBERS = ("password", "secretkey", "secret_key")
"""A value that contains one of these names is JSON with a secret, unless it is the name of a topic or group."""
_OF_NAMES = "abcdefghijklmnopqrstuvwxyz0123456789_-%|"
"""The characters of a topic's or group's name, in lower case."""
_GRPC_SIGNATURE = "Signature="


def holds_secret(name: str, value: object) -> bool:
    """True if a key with that name and value holds a secret, even if the name is misspelled."""
    lower, text = name.lower(), str(value).lower()
    for part in _NAMES if lower else ():  # loops without generators, because each refused request has seven texts
        if part in lower:
            return True
    for part in _MEMBERS:
        if part in text:
            return bool(text.strip(_OF_NAMES))
    return False


def masked(name: str, value: object) -> object:
    """Return the value of a key, or the mask if the value is a secret and not empty."""
    return MASK if holds_secret(name, value) and str(value) else value


def masked_mapping(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys and values with secrets masked."""
    return {name: masked(name, value) for name, value in values.items()}


def masked_line(line: str) -> str:
    """Mask the secret, if any, in a line such as `key=value`."""
    name, separator, value = line.partition("=")
    if not separator:
        return MASK if holds_secret("", line) else line
    end = "\n" if value.endswith("\n") else ""
    return f"{name}={masked(name, value.removesuffix(end))}{end}"


def masked_lines(text: str) -> str:
    """Mask the secrets in properties lines."""
    return "".join(masked_line(line) for line in text.splitlines(keepends=True))


def masked_authorization(header: str) -> str:
    """Mask the signature in the `authorization` header of a gRPC call, or the whole header if it has no signature."""
    start, signature, _ = header.partition(_GRPC_SIGNATURE)
    return f"{start}{signature}{MASK}" if signature else MASK
