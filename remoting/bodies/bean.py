"""Declare JSON bodies as classes of fields, and read them as fastjson reads its beans.

A body is a class decorated with `@bean`; its fields are declared like those of a custom header. `parse` reads the body
of a request, `read` an object inside a body. A value that does not fit its field is rejected with fastjson's exception.
A null or absent member leaves the field at its default. Source: JavaBeanDeserializer (fastjson 1.2.83).
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform, get_args, get_origin

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.java_types import fits
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.value_class import dataclass_eq, dataclass_repr, slotted

from ..wire import json_values as values
from ..wire.fields import WireField, wire, wire_fields
from ..wire.lenient_json import ObjectMap
from .reading import SYNTAX_ERROR, loads

B = TypeVar("B", bound="Bean")
Read = Callable[[Any, str], Any]

NULL_KEY = 'java.lang.NullPointerException: Cannot invoke "Object.hashCode()" because "key" is null'
"""The message of an exception of upstream's handlers, which look up the value of a member in a map."""
NULL_ITEM = "java.lang.NullPointerException"
_BITS = {"Int": values.INT_BITS, "Long": values.LONG_BITS}


class BeanField(NamedTuple):
    """A declared field and the function that reads its values."""

    declared: WireField
    read: Read


class _LazyBeanFields:
    """Computes FIELDS of a class on first access."""

    def __get__(self, instance: object, cls: "type[Bean]") -> tuple[BeanField, ...]:
        cls.FIELDS = tuple(BeanField(each, _reader(each.hint)) for each in wire_fields(cls))
        return cls.FIELDS


class Bean:
    """Base class of JSON bodies. Subclasses are declared with `@bean`."""

    __slots__ = ()
    __repr__ = dataclass_repr
    __eq__ = dataclass_eq
    __hash__ = None  # type: ignore[assignment]  # instances are mutable

    FIELDS: ClassVar[tuple[BeanField, ...]] = ()
    MISSING_BODY_REMARK: ClassVar[str] = ""
    """The remark of the error response to a request without this body. If empty, such a request is read as `{}`."""

    MISSING_MEMBER_REMARK: ClassVar[str] = NULL_KEY
    """The remark of the error response to a body without a required member."""

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Read a request's body. Raises SYSTEM_ERROR (no body, not an object, a member that does not fit)."""
        found = loads(body) if body else None
        if _is_null(found):
            if cls.MISSING_BODY_REMARK:
                raise EngineError(ResponseCode.SYSTEM_ERROR, cls.MISSING_BODY_REMARK)
            found = {}
        if not isinstance(found, dict):
            raise EngineError(ResponseCode.SYSTEM_ERROR, SYNTAX_ERROR)
        return cls.read(found)

    @classmethod
    def read(cls, members: Mapping[str, Any]) -> Self:
        """Read an object. Raises SYSTEM_ERROR (a member that does not fit, a required member that is absent)."""
        found = {}
        for declared, read in cls.FIELDS:
            given = members.get(declared.name)
            if given is None and declared.alternate is not None:
                given = members.get(declared.alternate)
            bits = _BITS.get(declared.kind)
            if bits is not None and not _readers_agree(given, bits):
                kinds = {each.declared.name: each.declared.kind for each in cls.FIELDS}
                if values.is_read_fast(members, declared.name, kinds):
                    given = values.fast_read(given, bits)
            value = None if given is None else read(given, declared.name)
            if value is None:
                if declared.required:
                    raise EngineError(ResponseCode.SYSTEM_ERROR, cls.MISSING_MEMBER_REMARK)
                value = declared.default if declared.make_default is None else declared.make_default()
            found[declared.attribute] = value
        return cls(**found)


@dataclass_transform(kw_only_default=True, field_specifiers=(wire, field))
def bean(cls: type[B]) -> type[B]:
    """Make a class of annotated fields a body: a slotted dataclass that computes FIELDS on first access."""
    made = slotted(cls, kw_only=True)
    made.FIELDS = _LazyBeanFields()  # type: ignore[assignment]  # computes FIELDS on first access
    return made


def _readers_agree(value: Any, bits: int) -> bool:
    """True if fastjson's fast and ordinary readers read a value alike: null, or a whole number in range."""
    return value is None or (value.__class__ is int and fits(value, bits))


def _is_null(value: Any) -> bool:
    return value is None or value == "" or value == []


def _reader(hint: Any) -> Read:
    """Return the function that reads values of a declared type."""
    if hint is str:
        return values.text
    if hint is bool:
        return values.boolean
    origin = get_origin(hint)
    if origin is Annotated:
        inner, mark = get_args(hint)
        if inner is int:
            return values.integer if mark == values.INT_BITS else values.long
        return partial(_read_enum, names=get_args(inner), java_class=mark)
    if origin is dict:
        key, item = (_reader(each) for each in get_args(hint))
        return partial(_read_map, key=key, item=item)
    if origin is not None:
        item_hint = get_args(hint)[0]
        return partial(_read_items, kind=origin, item=_reader(item_hint), is_bean=_is_bean(item_hint))
    return partial(_read_bean, cls=hint)


def _is_bean(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Bean)


def _read_enum(value: Any, _name: str, *, names: tuple[str, ...], java_class: str) -> str | None:
    return values.enum_name(value, names, java_class)


def _read_bean(value: Any, name: str, *, cls: type[Bean]) -> Bean | None:
    if _is_null(value):
        return None
    if not isinstance(value, dict):
        token = values.token_name(value)
        raise values.fastjson_error(
            f"syntax error, expect {{, actual {token}, pos 0, fieldName {name}, fastjson-version 1.2.83"
        )
    return cls.read(value)


def _read_items(value: Any, name: str, *, kind: type, item: Read, is_bean: bool) -> Any:
    """Read a list or set. A null among beans is an error, as in upstream's handlers; other nulls are dropped."""
    if not isinstance(value, list):
        raise values.fastjson_error(f"field {name} expect '[', but {values.token_name(value)}")
    found = [None if each is None else item(each, str(index)) for index, each in enumerate(value)]
    if is_bean and None in found:
        raise EngineError(ResponseCode.SYSTEM_ERROR, NULL_ITEM)
    return kind(each for each in found if each is not None)


def _read_map(value: Any, name: str, *, key: Read, item: Read) -> dict[Any, Any]:
    pairs = value.items() if isinstance(value, dict) else value if isinstance(value, ObjectMap) else None
    if pairs is None:
        raise values.fastjson_error(f"syntax error, expect {{, actual {values.token_name(value)}, fieldName {name}")
    found = {key(each, name): None if held is None else item(held, str(each)) for each, held in pairs}
    return {each: held for each, held in found.items() if each is not None and held is not None}
