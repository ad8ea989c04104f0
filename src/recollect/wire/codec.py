"""The converter between values of `core` and JSON, by the names and types of their fields.

A `Codec` is derived from a frozen dataclass or a named tuple. Its shape, a pydantic class, is read
from a value by attribute and from JSON by name. Differences in JSON are declared where the codec is
created, with the text for the documentation.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass
from datetime import datetime
from functools import cache
from types import GenericAlias, NoneType, UnionType
from typing import Any, Final, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AliasPath,
    BaseModel,
    Field,
    ValidationInfo,
    create_model,
    model_validator,
)

from recollect.wire.values import Moment, Shape

Value = TypeVar("Value")
Item = TypeVar("Item")
Read = Callable[[Any], Any]
Differences = Mapping[str, Any]
_OWN_OPTIONS: Final = ("path", "type", "of")


class Codec(Generic[Value]):
    """Converts values of one type. It is built when first used: a command needs few of them."""

    def __init__(self, make: Callable[[], tuple[type[BaseModel], Read]]) -> None:
        self._make = cache(make)

    @property
    def shape(self) -> type[Any]:
        """The JSON of the type, a pydantic class, for FastAPI and the documentation."""
        return self._make()[0]

    def read(self, shape: BaseModel) -> Value:
        """Return the value of a validated shape."""
        return self._make()[1](shape)  # type: ignore[no-any-return]

    def to_shape(self, value: Value) -> BaseModel:
        return self._make()[0].model_validate(value)

    def encode(self, value: Value) -> dict[str, Any]:
        """Return the value as JSON values."""
        return self.to_shape(value).model_dump(mode="json")

    def decode(self, text: bytes) -> Value:
        """Return the value of a JSON document; or raise pydantic's ValidationError."""
        return self.read(self.shape.model_validate_json(text))


@dataclass(frozen=True, slots=True)
class _Part:
    """A field of a class, or of a nested value whose fields JSON has at the level of the class."""

    path: tuple[str, ...]
    hint: Any
    default: Any


# The first codec of a class is used for values inside other values.
_CODECS: Final[dict[type, Codec[Any]]] = {}
_READERS: Final[dict[type[BaseModel], Read]] = {}


def codec(
    table: type[Value],
    name: str,
    about: str,
    /,
    *,
    flat: Collection[str] = (),
    without: Mapping[str, object] | None = None,
    only: Collection[str] = (),
    later: Collection[str] = (),
    base: type[BaseModel] = Shape,
    write: Callable[[Any], object] | None = None,
    read: Callable[[Any, dict[str, Any]], Any] | None = None,
    **fields: Differences,
) -> Codec[Value]:
    """Derive the codec of a class.

    In the place of a `flat` field, JSON has all fields of its value, or only the named ones
    (`scope.project`). The fields `without` are absent from JSON; reading gives them these values.
    The first servers did not send the `later` ones; reading gives them their defaults. Other
    differences are declared by the field's name in JSON: the `path` of its value; its `type`, whose
    values are then not converted; the codec that it consists `of`, if not the first of its class;
    arguments of pydantic's `Field`. For everything else, `write` returns what the shape is read
    from, and `read` returns the value, given a shape and the arguments of the class.
    """
    absent = without or {}

    def make() -> tuple[type[BaseModel], Read]:
        parts = {
            _name_of(part, fields): part
            for part in _parts(table, flat)
            if ".".join(part.path) not in absent and (not only or part.path[-1] in only)
        }
        definitions: dict[str, Any] = {
            name: _definition(name, parts.get(name), fields.get(name, {}), is_later=name in later)
            for name in [*parts, *(name for name in fields if name not in parts)]
        }
        shape = _derive(name, about, definitions, write, base)
        arguments = _arguments_of(table, parts, fields, absent)

        def read_value(found: BaseModel) -> Any:  # noqa: ANN401  # a Value
            return table(**arguments(found)) if read is None else read(found, arguments(found))

        _READERS[shape] = read_value
        return shape, read_value

    created: Codec[Value] = Codec(make)
    _CODECS.setdefault(table, created)
    return created


def listing(item: Codec[Item], key: str, name: str, about: str, /) -> Codec[list[Item]]:
    """Derive the codec of a list, which JSON has inside an object so that it can be extended."""

    def make() -> tuple[type[BaseModel], Read]:
        items = GenericAlias(list, (item.shape,))
        shape = _derive(name, about, {key: (items, ...)}, lambda found: {key: found})
        return shape, lambda found: [item.read(each) for each in getattr(found, key)]

    return Codec(make)


def build(table: type[Value], shape: BaseModel, **known: object) -> Value:
    """Build a value, by the names of its fields, from a shape that validates and has no codec.
    Fields that the shape lacks get their defaults, unless they are `known`.
    """
    values = {
        name: read(getattr(shape, name))
        for name, read in _readers_of(table).items()  # type: ignore[arg-type]  # a class has a hash
        if name not in known and name in type(shape).model_fields
    }
    return table(**values, **known)


def read_set(table: type, shape: BaseModel) -> dict[str, Any]:
    """Return the fields of a class that were set in a shape, with the types of the class."""
    readers = _readers_of(table)
    return {
        name: readers[name](getattr(shape, name))
        for name in readers
        if name in shape.model_fields_set
    }


def _name_of(part: _Part, fields: Mapping[str, Differences]) -> str:
    path = ".".join(part.path)
    return next((name for name, each in fields.items() if each.get("path") == path), part.path[-1])


def _definition(
    name: str, part: _Part | None, differences: Differences, *, is_later: bool
) -> tuple[Any, Any]:
    """Return the field of a shape as `create_model` takes it."""
    rest = {key: value for key, value in differences.items() if key not in _OWN_OPTIONS}
    if part is None:
        return differences["type"], Field(**rest)
    if part.path != (name,):
        rest["validation_alias"] = AliasPath(*part.path)
    if is_later:
        rest |= _default_of(part)
    type_ = differences.get("type") or _type_of(part.hint, differences.get("of"))
    return type_, Field(**rest)


def _default_of(part: _Part) -> dict[str, Any]:
    if isinstance(part.default, dict):
        return {"default_factory": dict}
    return {"default": [*part.default] if isinstance(part.default, tuple) else part.default}


def _parts(table: type, flat: Collection[str]) -> Iterator[_Part]:
    hints = _hints_of(table)
    for name, default in _defaults_of(table).items():
        named = [path.removeprefix(f"{name}.") for path in flat if path.startswith(f"{name}.")]
        if name not in flat and not named:
            yield _Part((name,), hints[name], default)
            continue
        for inner in _parts(hints[name], ()):
            if not named or inner.path[0] in named:
                yield _Part((name, *inner.path), inner.hint, inner.default)


def _arguments_of(
    table: type,
    parts: Mapping[str, _Part],
    fields: Mapping[str, Differences],
    absent: Mapping[str, object],
) -> Callable[[BaseModel], dict[str, Any]]:
    """Create the function that turns a shape into the arguments of the class."""
    hints = _hints_of(table)
    readers = {
        name: _reader_of(object if "type" in fields.get(name, {}) else part.hint)
        for name, part in parts.items()
    }
    flat = {part.path[0] for part in parts.values() if len(part.path) > 1}

    def arguments(found: BaseModel) -> dict[str, Any]:
        values: dict[str, Any] = {name: {} for name in flat}

        def put(path: tuple[str, ...], value: object) -> None:
            (values if len(path) == 1 else values[path[0]])[path[-1]] = value

        for name, value in absent.items():
            put(tuple(name.split(".")), value)
        for name, part in parts.items():
            put(part.path, readers[name](getattr(found, name)))
        return {
            name: hints[name](**value) if name in flat else value for name, value in values.items()
        }

    return arguments


def _derive(
    name: str,
    about: str,
    fields: dict[str, Any],
    write: Callable[[Any], object] | None,
    base: type[BaseModel] = Shape,
) -> type[BaseModel]:
    def prepare(cls: Any, value: object, info: ValidationInfo) -> object:  # noqa: ANN401, ARG001
        is_written = info.mode == "json" or isinstance(value, (dict, BaseModel))
        return value if write is None or is_written else write(value)

    validators: dict[str, Any] = {}
    if write is not None:
        validators["prepare"] = model_validator(mode="before")(prepare)
    return create_model(name, __base__=base, __doc__=about, __validators__=validators, **fields)


def _hints_of(table: type) -> dict[str, Any]:
    # What its module imports only for type checking has a codec by now.
    imported = vars(sys.modules[table.__module__])
    named = {known.__name__: known for known in _CODECS if known.__name__ not in imported}
    return get_type_hints(table, localns=named)


def _defaults_of(table: Any) -> dict[str, Any]:  # noqa: ANN401  # a dataclass or named tuple
    if not dataclasses.is_dataclass(table):
        return {name: table._field_defaults.get(name, MISSING) for name in table._fields}
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in dataclasses.fields(table)
    }


def _type_of(hint: Any, of: Codec[Any] | None = None) -> Any:  # noqa: ANN401  # types
    """Return the type that values of this type have in JSON."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return Union[tuple(_type_of(each, of) for each in arguments)]  # noqa: UP007  # of a tuple
    if origin is tuple and arguments[1:] != (...,):
        return hint
    if origin in (tuple, frozenset):
        return GenericAlias(list, (_type_of(arguments[0], of),))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return GenericAlias(dict, (arguments[0], _type_of(arguments[1], of)))
    if hint in (datetime, object):
        return Moment if hint is datetime else Any
    return (of or _CODECS[hint]).shape if _has_fields(hint) else hint


def _reader_of(hint: Any) -> Read:  # noqa: ANN401  # a type
    """Create the function that turns validated JSON into a value of this type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (only,) = (_reader_of(each) for each in arguments if each is not NoneType)
        return lambda found: None if found is None else only(found)
    if origin in (tuple, frozenset):
        item = _reader_of(arguments[0])
        return lambda found: origin(map(item, found))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        value = _reader_of(arguments[1])
        return lambda found: {name: value(each) for name, each in found.items()}
    if _has_fields(hint):
        return lambda found: _READERS.get(type(found), lambda shape: build(hint, shape))(found)
    return lambda found: found


@cache
def _readers_of(table: Any) -> dict[str, Read]:  # noqa: ANN401  # a class
    return {name: _reader_of(hint) for name, hint in _hints_of(table).items()}


def _has_fields(hint: Any) -> bool:  # noqa: ANN401  # a type
    return dataclasses.is_dataclass(hint) or hasattr(hint, "_fields")
