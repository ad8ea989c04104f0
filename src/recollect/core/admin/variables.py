"""Settings as a dataclass whose fields are read from environment variables.

The class that declares the settings is the only place that knows their names, types, limits and
defaults; this module reads them with the standard library alone. Every command reads its settings,
and a validation library takes longer to import than most commands take to run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Declared = TypeVar("Declared", bound=DataclassInstance)

_type_hints: Final = cache(get_type_hints)  # slower than everything else here
# Compiled only when a number is read, which is rare.
_INTEGER: Final = r"([+-]?[0-9]+(?:_[0-9]+)*)(?:\.0+)?"
_YES: Final = ("1", "on", "t", "true", "y", "yes")
_NO: Final = ("0", "off", "f", "false", "n", "no")


class Unusable(ValueError):
    """The setting `name` cannot have its value; the message says what is expected."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class SecretStr:
    """A text that is hidden when settings are printed or logged."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "SecretStr('**********')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretStr) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


def Field(  # noqa: N802  # reads as a declaration
    default: object = MISSING,
    *,
    default_factory: Callable[[], object] | None = None,
    ge: float | None = None,
    le: float | None = None,
    min_length: int | None = None,
    also: str | None = None,
) -> Any:  # noqa: ANN401  # as `dataclasses.field`
    """Declare a setting with limits, or with a second variable that is read if its own is
    not set.
    """
    options = {"ge": ge, "le": le, "min_length": min_length, "also": also}
    metadata = {name: value for name, value in options.items() if value is not None}
    if default_factory is not None:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def read(
    declared: type[Declared], prefix: str, environ: Mapping[str, str], given: Mapping[str, object]
) -> Declared:
    """Read the settings: the given value, else the variable, else the default. The case of a
    variable's name does not matter, and an empty variable is unset. Unusable names the first
    invalid one.
    """
    variables = {name.lower(): value for name, value in environ.items() if value}
    types = _type_hints(declared)
    values: dict[str, object] = {}
    for setting in fields(declared):
        names = (prefix + setting.name, setting.metadata.get("also", ""))
        found = [variables[name.lower()] for name in names if name.lower() in variables]
        if setting.name in given or found:
            value = given[setting.name] if setting.name in given else found[0]
            try:
                values[setting.name] = parse(types[setting.name], value, setting.metadata)
            except ValueError as error:
                raise Unusable(setting.name, str(error)) from error
    for name in given:
        if name not in types:
            raise Unusable(name, "Extra inputs are not permitted")
    return declared(**values)


def parse(type: Any, value: object, limits: Mapping[str, Any]) -> object:  # noqa: ANN401  # an annotation
    """Return the value as its type, within the limits; ValueError says what is expected."""
    return _check_limits(_parse(type, value), limits)


def _check_limits(value: Any, limits: Mapping[str, Any]) -> object:  # noqa: ANN401  # of any type
    if value is None:
        return value
    if "le" in limits and not value <= limits["le"]:
        raise ValueError(f"Input should be less than or equal to {limits['le']}")
    if "ge" in limits and not value >= limits["ge"]:
        raise ValueError(f"Input should be greater than or equal to {limits['ge']}")
    if "min_length" in limits and len(value) < limits["min_length"]:
        raise ValueError(f"String should have at least {limits['min_length']} character")
    return value


def _parse(type: Any, value: object) -> object:  # noqa: ANN401  # an annotation
    options = get_args(type)
    if options and options[-1] is None.__class__:
        return None if value is None else _parse(options[0], value)
    if get_origin(type) is Literal:
        return _parse_choice(value, options)
    return _PARSERS[get_origin(type) or type](value)


def _parse_choice(value: object, options: tuple[str, ...]) -> object:
    if value in options:
        return value
    *others, last = map(repr, options)
    raise ValueError(f"Input should be {', '.join(others)} or {last}")


def _parse_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("Input should be a valid string")


def _parse_secret(value: object) -> SecretStr:
    return value if isinstance(value, SecretStr) else SecretStr(_parse_text(value))


def _parse_path(value: object) -> Path:
    if isinstance(value, str | Path):
        return Path(value)
    raise ValueError("Input is not a valid path")


def _parse_integer(value: object) -> int:
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        raise ValueError("Input should be a valid integer")  # noqa: TRY004  # reported like the others
    written = re.fullmatch(_INTEGER, value.strip())
    if written is None:
        raise ValueError("Input should be a valid integer, unable to parse string as an integer")
    return int(written[1])


def _parse_number(value: object) -> float:
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        raise ValueError("Input should be a valid number")  # noqa: TRY004  # reported like the others
    try:
        return float(value if value.isascii() and "_" not in value else "")
    except ValueError as error:
        raise ValueError(
            "Input should be a valid number, unable to parse string as a number"
        ) from error


def _parse_flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise ValueError("Input should be a valid boolean, unable to interpret input")


def _parse_list(value: object) -> tuple[str, ...]:
    if isinstance(value, tuple | list):
        return tuple(map(_parse_text, value))
    return tuple(name for part in _parse_text(value).split(",") if (name := part.strip()))


_PARSERS: Final[Mapping[Any, Callable[[object], object]]] = {
    str: _parse_text,
    SecretStr: _parse_secret,
    Path: _parse_path,
    int: _parse_integer,
    float: _parse_number,
    bool: _parse_flag,
    tuple: _parse_list,
}
