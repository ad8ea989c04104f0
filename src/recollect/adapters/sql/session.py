"""What both databases provide for the rarely used parts of a store (docs/adr/0062).

Such a part has one text per statement, in the SQL that both databases understand, with named
parameters (`:owner`). `:now` is set by the store. A list can be a parameter: `id = any(:ids)`.
Where the databases differ, a statement has a marker (`Markers`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from string import Template
from typing import Any, Final, LiteralString, Protocol, TypedDict, TypeVar

T = TypeVar("T")
Row = dict[str, Any]
Values = Mapping[str, object]

AS_OF: Final = "cast(:as_of as timestamptz)"
"""A moment or null: Postgres needs an explicit type for a parameter that may be null."""

PARAMETER: Final = re.compile(r":([a-z_]+)")


class Markers(TypedDict):
    """Placeholders for SQL that differs between the databases."""

    memory: LiteralString
    """`e.$memory`: the column by which the tables of the graph refer to a memory."""

    number: LiteralString
    """`m.$number`: the column of `memories` that it refers to."""

    weight: LiteralString
    """The weight of the relationship `c`, or the column it is computed from."""

    undated: LiteralString
    """`said_from` of a statement without a date."""

    groups: LiteralString
    """The pairs of two lists, `:sources` and `:relations`, as the table `w`."""

    languages: LiteralString
    """The parameter `:languages`, names separated by spaces, as the column of a space."""

    for_share: LiteralString
    for_update: LiteralString
    """Row locks, for the database that allows several writers."""


class Session(Protocol):
    """A connection on which statements run. Rows have domain values: ids, UTC moments, booleans."""

    async def fetch(self, statement: LiteralString, values: Values) -> list[Row]:
        """Return the rows of a statement."""

    async def execute(self, statement: LiteralString, values: Values) -> int:
        """Run a statement. Returns how many rows it changed."""


Work = Callable[[Session], Coroutine[Any, Any, T]]
"""Work in a session. It must await nothing but the session: on SQLite it runs to its end in the
thread
of the connection."""


class SqlComponent(ABC):
    """A part of a store that is the same on both databases."""

    @abstractmethod
    async def _read(self, owner: str | None, work: Work[T]) -> T:
        """Read rows of one owner; None: of tables without an owner. `work` may be repeated after a
        disconnect.
        """

    @abstractmethod
    async def _write(self, owner: str | None, work: Work[T]) -> T:
        """Change rows in one transaction."""


def fill(statement: LiteralString, markers: Markers) -> str:
    return Template(statement).substitute(markers)
