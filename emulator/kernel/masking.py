"""Masks passwords, secret keys and tokens in what the journal, errors and listings show."""

from collections.abc import Mapping
from typing import Any

MASK = "***"
_NAMES = ("password", "secret", "credential", "initauthenticationuser", "token", "signature")
"""A key whose name contains one of these holds a secret."""
_MEMBERS = ("password", "secretkey", "secret_key")
"""A value that contains one of these names is JSON with a secret, whatever its key is, unless it is a mere name."""
_OF_NAMES = "abcdefghijklmnopqrstuvwxyz0123456789_-%|"
"""The characters of a topic's or group's name, in lower case."""
_GRPC_SIGNATURE = "Signature="


def holds_secret(name: str, value: object) -> bool:
    """True if a key of that name and value holds a secret, also if the name is misspelled."""
    lower, text = name.lower(), str(value).lower()
    if any(part in lower for part in _NAMES):
        return True
    return any(part in text for part in _MEMBERS) and bool(text.strip(_OF_NAMES))


def masked(name: str, value: object) -> object:
    """The value of a key, or the mask if it holds a secret and is not empty."""
    return MASK if holds_secret(name, value) and str(value) else value


def masked_mapping(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keys and values, with secrets masked."""
    return {name: masked(name, value) for name, value in values.items()}


def masked_line(line: str) -> str:
    """A line such as `key=value`, with a secret masked."""
    name, separator, value = line.partition("=")
    if not separator:
        return MASK if holds_secret("", line) else line
    end = "\n" if value.endswith("\n") else ""
    return f"{name}={masked(name, value.removesuffix(end))}{end}"


def masked_lines(text: str) -> str:
    """Properties lines, with secrets masked."""
    return "".join(masked_line(line) for line in text.splitlines(keepends=True))


def masked_authorization(header: str) -> str:
    """The `authorization` header of a gRPC call without its signature; all of it is masked if it has none."""
    start, signature, _ = header.partition(_GRPC_SIGNATURE)
    return f"{start}{signature}{MASK}" if signature else MASK
