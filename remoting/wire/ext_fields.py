"""Declare, read and write the custom header of a request (its ext fields).

A header is a dataclass whose fields are typed `str`, `Int` (32 bit), `Long` (64 bit) or `bool`, or one of these with `|
None`. The ext field's name is the camelCase of the attribute, or is set by `wire("b")`. A default is the value that
upstream's handler assumes for an absent field. A field without a default is required. Upstream's decoder does not check
presence, but its handler then fails with code 1; so does `parse`.

`parse` is compiled per class, because sends and pulls decode one header per message. It is compiled with the first
request that has the header: compiling unused headers would take a tenth of the start-up time.
Source: CommandCustomHeader, RemotingCommand.decodeCommandCustomHeader (5.3.3).
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from rocketmq_testkit.emulator.config.keys import camel_case
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.java_numbers import parse_integer, parse_long
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.value_class import dataclass_eq, dataclass_repr, slotted

from .fields import REQUIRED, Int, Long, WireField, wire, wire_fields
from .header_json import ext_fields

__all__ = ["Header", "Int", "Long", "WireField", "header", "required", "wire"]

H = TypeVar("H", bound="Header")

_PACKAGE = "org.apache.rocketmq.remoting.protocol.header"


class _LazyWireFields:
    """Computes FIELDS of a class on first access."""

    def __get__(self, header: object, cls: "type[Header]") -> tuple[WireField, ...]:
        cls.FIELDS = wire_fields(cls)
        return cls.FIELDS


class Header:
    """Base class of request headers. Subclasses are declared with `@header`."""

    __slots__ = ()
    __repr__ = dataclass_repr
    __eq__ = dataclass_eq
    __hash__ = None  # type: ignore[assignment]  # instances are mutable

    FIELDS: ClassVar[tuple[WireField, ...]] = ()
    UPSTREAM: ClassVar[str] = ""
    """The name of upstream's class, if it differs from this class's name."""

    FAST: ClassVar[bool] = False
    """True if upstream decodes the header without reflection (FastCodesHeader).

    An unreadable number then has an error of its own; in other headers it counts as missing.
    """

    @classmethod
    def parse(cls, ext: Mapping[str, Any]) -> Self:
        """Parse decoded ext fields. Raises EngineError for a missing or unreadable field."""
        return cls._parse_carefully(ext)

    @classmethod
    def _parse_carefully(cls, ext: Mapping[str, Any]) -> Self:
        texts = ext_fields(dict(ext))
        values = {}
        for each in cls.FIELDS:
            text = texts.get(each.name)
            value = _read(each, text)
            if value is None:
                if text is not None and cls.FAST:
                    raise EngineError(
                        ResponseCode.SYSTEM_ERROR, f'java.lang.NumberFormatException: For input string: "{text}"'
                    )
                value = each.default
                if value is REQUIRED:
                    raise EngineError(ResponseCode.SYSTEM_ERROR, missing(cls, each))
            values[each.attribute] = value
        return cls(**values)

    def ext_fields(self) -> dict[str, str]:
        """Return the header as ext fields, without those that are None."""
        found = {}
        for each in self.FIELDS:
            value = getattr(self, each.attribute)
            if value is not None:
                found[each.name] = ("true" if value else "false") if each.kind == "bool" else str(value)
        return found


@dataclass_transform(kw_only_default=True, field_specifiers=(wire, field))
def header(cls: type[H]) -> type[H]:
    """Make a class of annotated fields a header: a slotted dataclass with a compiled `parse`."""
    made = slotted(cls, kw_only=True)
    made.FIELDS = _LazyWireFields()  # type: ignore[assignment]  # computes FIELDS on first access
    made.parse = staticmethod(partial(_first_parse, made))  # type: ignore[method-assign]  # has the same signature
    return made


def required(header: Header, attribute: str) -> int:
    """Return a number that the handler needs, but does not check first. Raises EngineError if it is missing."""
    value = getattr(header, attribute)
    if value is None:
        each = next(each for each in header.FIELDS if each.attribute == attribute)
        raise EngineError(ResponseCode.SYSTEM_ERROR, missing(type(header), each))
    return int(value)


def missing(cls: type[Header], each: WireField) -> str:
    """Return the remark of the response to a request without a field that its handler needs."""
    if each.kind == "str":
        return 'java.lang.NullPointerException: Cannot invoke "Object.hashCode()" because "key" is null'
    boxed = {"Int": "Integer.intValue()", "Long": "Long.longValue()", "bool": "Boolean.booleanValue()"}[each.kind]
    name = cls.UPSTREAM or cls.__name__
    property_name = camel_case(each.attribute)
    return (
        f'java.lang.NullPointerException: Cannot invoke "java.lang.{boxed}" because the return value of '
        f'"{_PACKAGE}.{name}.get{property_name[0].upper()}{property_name[1:]}()" is null'
    )


def _read(each: WireField, text: str | None) -> Any:
    if text is None or each.kind == "str":
        return text
    if each.kind == "bool":
        return text.lower() == "true"
    try:
        return parse_integer(text) if each.kind == "Int" else parse_long(text)
    except ValueError:
        return None


def _first_parse(cls: type[H], ext: Mapping[str, Any]) -> H:
    cls.parse = staticmethod(_compile(cls))  # type: ignore[method-assign, assignment]  # same signature, without cls
    return cls.parse(ext)


_FLAGS: Mapping[str, bool] = {"true": True, "false": False}
_FLAGS_OR_NONE: Mapping[str | None, bool | None] = {None: None, "true": True, "false": False}
"""The usual texts of booleans. Other values are no keys, and are read carefully."""


def _compile(cls: type[H]) -> Callable[[Mapping[str, Any]], H]:
    """Compile the fast parser of a header. Unusual requests go to `_parse_carefully`.

    A usual request has every field that is required or has a default other than None, as those of Java clients do.
    """
    names: dict[str, Any] = {"new": object.__new__, "cls": cls, "carefully": cls._parse_carefully}
    names |= {"flags": _FLAGS, "flags_or_none": _FLAGS_OR_NONE}
    reads: list[str] = []
    odd: list[str] = []  # conditions that require `_parse_carefully`
    ranges: dict[str, list[str]] = {"Int": [], "Long": []}
    usual = [index for index, each in enumerate(cls.FIELDS) if each.required or each.default is not None]
    if len(usual) > 1:
        names["usual"] = itemgetter(*(cls.FIELDS[index].name for index in usual))
        reads.append(f"{', '.join(f'v{index}' for index in usual)} = usual(ext)")
    else:
        reads += [f"v{index} = ext[{cls.FIELDS[index].name!r}]" for index in usual]
    for index, each in enumerate(cls.FIELDS):
        local = f"v{index}"
        absent = "" if index in usual else f"{local} is not None and "
        if absent:
            reads.append(f"{local} = ext.get({each.name!r})")
        if each.kind == "str":
            odd.append(f"{absent}{local}.__class__ is not str")
        elif each.kind == "bool":
            reads.append(f"{local} = {'flags_or_none' if absent else 'flags'}[{local}]")
        elif absent:
            odd.append(f"{local} is not None")
        else:
            ranges[each.kind].append(local)
    numbers = ranges["Int"] + ranges["Long"]
    if numbers:
        # int() also accepts blanks and underscores. One check of all the texts together rejects them.
        shown = "".join(f"{{{local}}}" for local in numbers)
        reads.append(f"if not f'{shown}'.replace('-', '').isdecimal(): return carefully(ext)")
        reads += [f"{local} = int({local})" for local in numbers]
    for kind, bits in (("Int", 31), ("Long", 63)):
        if ranges[kind]:
            # An `or` of numbers is negative or too big only if one of them is, so the usual case needs one comparison.
            small = f"0 <= {' | '.join(ranges[kind])} < {1 << bits}"
            within = " and ".join(f"{-1 << bits} <= {local} < {1 << bits}" for local in ranges[kind])
            odd.append(f"not ({small} or {within})")
    source = ["def parse(ext):", "    try:", *(f"        {read}" for read in reads or ["pass"])]
    source += ["    except (KeyError, ValueError, TypeError, OverflowError):", "        return carefully(ext)"]
    if odd:
        source += [f"    if {' or '.join(f'({each})' for each in odd)}:", "        return carefully(ext)"]
    source.append("    header = new(cls)")
    source += [f"    header.{each.attribute} = v{index}" for index, each in enumerate(cls.FIELDS)]
    source.append("    return header")
    exec("\n".join(source), names)
    return names["parse"]  # type: ignore[no-any-return]  # made by the source above
