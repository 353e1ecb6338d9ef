"""Masks passwords, secret keys and tokens in the journal, in errors and in listings."""

from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"
_NAMES = ("password", "secret", "credential", "initauthenticationuser", "token", "signature")
"""A key whose name contains one of these, in any case, holds a secret."""
_NAMES_OF_PROGRAMS = (*_NAMES, "api_key", "apikey", "passwd", "passphrase", "private_key")
"""The same for options and settings of other programs. A `-` in such a name is compared as `_`."""
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


def masked_url(text: str) -> str:
    """Mask user, password and query of a URL, which may hold keys. Any other text is returned as it is."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text
    address, question, _ = rest.partition("?")
    authority, slash, path = address.partition("/")
    _, at, host = authority.rpartition("@")
    return f"{scheme}://{MASK if at else ''}{at}{host}{slash}{path}{question}{MASK if question else ''}"


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


def masked_words(words: Iterable[str]) -> list[str]:
    """Mask the secrets in a command line: values of options, settings and targets, and users and queries of URLs.

    The command may be that of any program, such as pytest with options of other plugins. Names of tests stay as they
    are.
    """
    shown, follows = [], False
    for word in words:
        shown.append(MASK if follows and word and not word.startswith("-") else _masked_word(word))
        follows = word.startswith("--") and "=" not in word and _is_secret_of_program(word)
    return shown


def _masked_word(word: str) -> str:
    name, separator, _ = word.partition("=")
    if "::" in name:
        return word
    if separator and _is_secret_of_program(name):
        return f"{name}={MASK}"
    if "{" in word and holds_secret("", word):  # JSON, which may have commas and equals signs
        return f"{name}={MASK}" if separator and "{" not in name else MASK
    return ",".join(_masked_setting(part) for part in word.split(","))


def _masked_setting(text: str) -> str:
    *names, value = masked_url(text).split("=")
    for at, name in enumerate(names):
        if _is_secret_of_program(name):
            return "=".join([*names[: at + 1], MASK])
    return "=".join([*names, value])


def _is_secret_of_program(name: str) -> bool:
    lower = name.lower().replace("-", "_")
    return any(part in lower for part in _NAMES_OF_PROGRAMS)


def masked_authorization(header: str) -> str:
    """Mask the signature in the `authorization` header of a gRPC call, or the whole header if it has no signature."""
    start, signature, _ = header.partition(_GRPC_SIGNATURE)
    return f"{start}{signature}{MASK}" if signature else MASK
