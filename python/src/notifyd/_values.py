"""Python values as D-Bus values, and back."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from jeepney import low_level

INT64 = range(-(2**63), 2**63)
UINT64 = range(2**64)


@dataclass(frozen=True)
class Variant:
    """A value with a D-Bus type of your choice: ``Variant("u", 5)``."""

    signature: str
    """A `single complete type <https://dbus.freedesktop.org/doc/dbus-specification.html#type-system>`_."""
    value: Any


Value = Union[bool, int, float, str, bytes, Variant, Sequence["Value"], Mapping[str, "Value"]]
"""A field of an event that is published.

``int`` becomes the D-Bus type ``x`` (``t`` above 2**63-1), ``float`` ``d``, ``bool`` ``b``, ``str`` ``s``, ``bytes``
``ay``, a mapping ``a{sv}``, and a sequence an array of its elements' type, or ``av`` if they have different types.
"""


def encoded(value: Value) -> tuple[str, Any]:
    """A variant, as Jeepney writes it: the signature and the value.

    Raises ValueError or TypeError if D-Bus has no such value.
    """
    match value:
        case Variant():
            return value.signature, _encoded(_type(value.signature), value.value)
        case bool():
            return "b", value
        case int() if value in INT64:
            return "x", value
        case int() if value in UINT64:
            return "t", value
        case int():
            raise ValueError(f"{value} does not fit into 64 bits.")
        case float():
            return "d", value
        case str():
            return "s", _text(value)
        case bytes() | bytearray():
            return "ay", bytes(value)
        case Mapping():
            return "a{sv}", {_text(key): encoded(member) for key, member in value.items()}
        case Sequence():
            members = [encoded(member) for member in value]
            kinds = {kind for kind, _ in members}
            if len(kinds) == 1 and len(kind := kinds.pop()) == 1:
                return "a" + kind, [member for _, member in members]
            return "av", members
    raise TypeError(f"D-Bus has no type for {type(value).__name__}.")


def _type(signature: str) -> Any:
    rest = list(signature)
    try:
        kind = low_level.parse_signature(rest)
    except (KeyError, IndexError, TypeError, ValueError):
        rest = [""]
    if rest or "h" in signature:
        raise ValueError(f"“{signature}” is not a D-Bus type that can be sent here. Write one like “u” or “a{{sv}}”.")
    return kind


def _encoded(kind: Any, value: Any) -> Any:
    match kind:
        case low_level.Variant():
            return encoded(value)
        case low_level.DictEntry() | low_level.Struct():
            if len(value) != len(kind.fields):
                raise ValueError(f"A struct has {len(kind.fields)} members, not {len(value)}.")
            return tuple(_encoded(field, member) for field, member in zip(kind.fields, value))
        case low_level.Array():
            if isinstance(kind.elt_type, low_level.DictEntry):
                return dict(_encoded(kind.elt_type, entry) for entry in mapping(value, "An array of entries").items())
            if kind.elt_type == low_level.simple_types["y"]:
                # A number would be so many zeros.
                return bytes(iter(value))
            return [_encoded(kind.elt_type, member) for member in value]
        case low_level.StringType():
            return _text(value)
    try:
        kind.serialise(value, 0, low_level.Endianness.little)
    except low_level.struct.error as error:
        raise ValueError(f"{value!r} does not have the D-Bus type that was given: {error}.") from None
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"A text must be a str, not of the type {type(value).__name__}.")
    # The bus closes the connection of a program that sends such a text.
    if "\0" in value or not value.isascii() and re.search("[\ud800-\udfff]", value):
        raise ValueError("A text has no NUL characters and no lone surrogates.")
    return value


def text(value: str) -> str:
    """A text that can be sent."""
    return _text(value)


def decoded(signature: str, body: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a message without the types of their variants."""
    kind = low_level.parse_signature(list(f"({signature})"))
    result = _decoded(kind, body)
    assert isinstance(result, tuple)
    return result


def _decoded(kind: Any, value: Any) -> Any:
    match kind:
        case low_level.Variant():
            signature, member = value
            return _decoded(low_level.parse_signature(list(signature)), member)
        case low_level.Struct():
            return tuple(_decoded(field, member) for field, member in zip(kind.fields, value))
        case low_level.Array() if isinstance(value, dict):
            key_kind, value_kind = kind.elt_type.fields
            return {_decoded(key_kind, key): _decoded(value_kind, member) for key, member in value.items()}
        case low_level.Array() if isinstance(value, list):
            return [_decoded(kind.elt_type, member) for member in value]
    return value


# Arguments. Each of these raises TypeError, or ValueError for what is out of range. "what" begins the sentence.


def integer(value: int, within: range, what: str) -> int:
    """A whole number. A bool is none, and to look for anything else in a range would take for ever."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be a whole number, not of the type {type(value).__name__}.")
    if value not in within:
        raise ValueError(f"{what} must be a whole number from {within[0]} to {within[-1]}; it is {value}.")
    return value


def number(value: float, what: str) -> float:
    """A number that may have a fraction, such as a time in seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number of seconds, not of the type {type(value).__name__}.")
    return value


def positive(value: float, what: str) -> float:
    """A time in seconds above 0."""
    if not number(value, what) > 0:
        raise ValueError(f"{what} must be a positive number of seconds; it is {value}.")
    # More than a century, and the event loop can count as far.
    return float(min(value, 2**32))


def flag(value: bool, what: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be True or False, not of the type {type(value).__name__}.")
    return value


def choice(value: str, choices: Collection[str], what: str) -> str:
    """One of some words."""
    if _text(value) not in choices:
        raise ValueError(f"{what} must be {' or '.join(choices)}; it is “{value}”.")
    return value


def mapping(value: Mapping[Any, Any], what: str) -> Mapping[Any, Any]:
    """A dictionary or the like."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must be a mapping, not of the type {type(value).__name__}.")
    return value


def whole(seconds: float, per_second: int, complaint: str) -> int:
    """A time in whole units, rounded up, for an argument of the type ``u``.

    Raises ValueError with the complaint.
    """
    # 0.07 * 1000 is a little more than 70.
    units = round(number(seconds, "A time") * per_second, 6)
    if not 0 <= units < 2**32 - 1:
        raise ValueError(complaint)
    return math.ceil(units)


def microseconds(moment: float, what: str) -> int:
    """A point in time, for an argument of the type ``x``."""
    scaled = number(moment, what) * 1_000_000
    if not -(2**63) <= scaled < 2**63:
        raise ValueError(f"{what} does not fit into 64 bits of microseconds.")
    return round(scaled)
