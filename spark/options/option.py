"""Declaration of an option: its names, form, default and documentation, next to the attribute that stores it.

Names are case-insensitive, as everywhere in Spark. An option is listed only in its declaration. Parsing, errors and the
page of options are derived from it.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar

from rocketmq_testkit.emulator.kernel.masking import MASK, masked
from rocketmq_testkit.emulator.message.names import GROUP_MAX_LENGTH, is_legal_group

from ..errors import OptionError

T = TypeVar("T")

SPARK_NAMES = frozenset({"path", "checkpointlocation", "queryname", "outputmode", "truncate", "numrows"})
"""Names that Spark or its users pass to every format; they have no meaning here."""

REQUIRED = MISSING


@dataclass(frozen=True)
class OptionSyntax:
    """Syntax of an option's text: a description, and a parser `read` that raises ValueError."""

    words: str
    read: Callable[[str], Any]
    example: str = ""


@dataclass(frozen=True)
class Declared:
    """Declaration of an option; the default is REQUIRED if there is none."""

    name: str
    form: OptionSyntax
    doc: str
    default: Any
    _: KW_ONLY
    aliases: tuple[str, ...] = ()
    secret: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in lower case."""
        return tuple(name.lower() for name in (self.name, *self.aliases))

    @property
    def remedy(self) -> str:
        """The end of a sentence about a wrong value: a value that works."""
        if isinstance(self.default, bool):
            return f"use {self.name}={str(self.default).lower()}, the default"
        if isinstance(self.default, int | str):
            return f"use {self.name}={self.default}, the default"
        return f"use {self.name}={self.form.example}" if self.form.example else "leave it out for the default"

    def declared_spelling(self, name: str) -> str:
        """Return one of its names as declared; Spark passes names in lower case."""
        return next(each for each in (self.name, *self.aliases) if each.lower() == name.lower())


def option(
    name: str, form: OptionSyntax, default: Any, doc: str, *, aliases: tuple[str, ...] = (), secret: bool = False
) -> Any:
    """Declare an option as a field of a class of options."""
    declared = Declared(name, form, doc, default, aliases=aliases, secret=secret)
    metadata = {"option": declared}
    if default is REQUIRED:
        return field(metadata=metadata, repr=not secret)
    return field(default=default, metadata=metadata, repr=not secret)


def declared_in(cls: type) -> list[tuple[str, Declared]]:
    """Return attribute and declaration of each option of a class."""
    known: tuple[Field[Any], ...] = fields(cls)
    return [(each.name, each.metadata["option"]) for each in known if "option" in each.metadata]


def read_options(cls: type[T], given: Mapping[str, str], kind: str, hint: str = "") -> T:
    """Parse the options of a read or write (`kind`). `hint` is appended to the error about a missing option.

    Raises OptionError for an unknown option (with the nearest name), and for one that is given twice, missing or
    malformed.
    """
    left = {name.lower(): (name, text) for name, text in given.items()}
    values: dict[str, Any] = {}
    declared = declared_in(cls)
    for attribute, each in declared:
        found = [left.pop(name) for name in each.names if name in left]
        if len(found) > 1:
            names = ", ".join(each.declared_spelling(name) for name, _ in found)
            raise OptionError(f"{names}: names of the same option; an option is given once; give one of them")
        if found:
            values[attribute] = _read(each, *found[0])
        elif each.default is REQUIRED:
            raise OptionError(f"{each.name}: missing; a {kind} needs {each.form.words}; {each.remedy}{hint}")
    unknown = [name for name in left if name not in SPARK_NAMES]
    if unknown:
        raise OptionError(no_such_option(*left[unknown[0]], kind, [option for _, option in declared]))
    return cls(**values)


def _read(declared: Declared, name: str, text: str) -> Any:
    try:
        return declared.form.read(text.strip())
    except ValueError as error:
        shown = MASK if declared.secret else text
        reason = f" ({error})" if str(error) else ""
        wrong = f"{declared.declared_spelling(name)}={shown}: expected {declared.form.words}{reason}"
        raise OptionError(f"{wrong}; {declared.remedy}") from None


def no_such_option(name: str, text: str, kind: str, declared: Iterable[Declared]) -> str:
    """The sentence for an unknown option of a read, write or table (`kind`): the nearest name, or all names."""
    known = {each.lower(): each for option in declared for each in (option.name, *option.aliases)}
    near = difflib.get_close_matches(name.lower(), known, 1, 0.5)
    shown = masked(known[near[0]] if near else name, text)
    if near:
        hint = f"did you mean {known[near[0]]}?; use {known[near[0]]}={shown}"
    else:
        hint = f"there are {', '.join(sorted(known.values()))}; leave it out"
    return f"{name}={shown}: a {kind} has no such option; {hint}"


# --- forms


def _text(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError
    return text.lower() == "true"


TEXT = OptionSyntax("a text", _text)
FLAG = OptionSyntax("true or false", _flag)


def integer(low: int, high: int = 0x7FFFFFFF) -> OptionSyntax:
    """Return the form of a whole number within bounds."""

    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]+", text) or not low <= int(text) <= high:
            raise ValueError
        return int(text)

    return OptionSyntax(f"a whole number from {low}" + (f" to {high}" if high != 0x7FFFFFFF else ""), read)


def choice(*values: str) -> OptionSyntax:
    """Return the form of one of several words, case-insensitive."""

    def read(text: str) -> str:
        for value in values:
            if text.lower() == value.lower():
                return value
        raise ValueError

    return OptionSyntax(" or ".join(values), read)


def _group(text: str) -> str:
    if not is_legal_group(_text(text)):
        raise ValueError
    return text


def _addresses(text: str) -> tuple[str, ...]:
    found = tuple(each.strip() for each in re.split("[;,]", text) if each.strip())
    for each in found:
        host, _, port = each.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(f"{each!r} is no host:port")
    if not found:
        raise ValueError("it is empty")
    return found


def _names(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if not found:
        raise ValueError("it is empty")
    return found


def _pattern(text: str) -> "re.Pattern[str]":
    try:
        return re.compile(_text(text))
    except re.error as error:
        raise ValueError(str(error)) from None


GROUP_NAME = OptionSyntax(f"at most {GROUP_MAX_LENGTH} letters, digits and any of % | _ -", _group)
ADDRESSES = OptionSyntax("host:port, several with ; between", _addresses, "127.0.0.1:9876")
NAMES = OptionSyntax("topics with commas between", _names)
PATTERN = OptionSyntax("a regular expression", _pattern)
