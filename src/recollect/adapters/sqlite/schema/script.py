"""Read the scripts of the schema as statements that run one by one in a transaction."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from string import Template
from typing import Final

from recollect.resources import read_text

_CREATED: Final = re.compile(r"^CREATE (?:UNIQUE )?(TABLE|INDEX|TRIGGER) (\w+)", re.MULTILINE)


def read_statements(name: str, /, **values: str) -> tuple[str, ...]:
    """Return the statements of a script, with each `$name` replaced by its value."""
    script = read_text("recollect.adapters.sqlite.schema", name)
    return tuple(_split(Template(script).substitute(values)))


def _split(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if line.endswith(";\n") and sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def by_name(statements: Iterable[str]) -> Mapping[str, str]:
    """Return the statements that create a table, an index or a trigger, by its name."""
    return {
        created[2]: statement
        for statement in statements
        if (created := _CREATED.search(statement)) is not None
    }


def drop_all(statements: Iterable[str]) -> tuple[str, ...]:
    """Return the statements that remove what these create, in reverse order."""
    created = [*filter(None, map(_CREATED.search, statements))]
    return tuple(f"DROP {each[1]} IF EXISTS {each[2]}" for each in reversed(created))
