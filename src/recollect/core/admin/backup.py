"""What a backup contains, and how two databases are compared without sorting them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Literal

from recollect.core.errors import InvalidInput

FORMAT: Final = 1
Kind = Literal["postgres", "sqlite"]

_BITS: Final = 256


class Checksum:
    """The sum of the rows' hashes: it does not depend on their order, and a row that occurs twice
    counts twice. A restored table has its rows in another order.
    """

    def __init__(self) -> None:
        self._sum = 0
        self.rows = 0

    def add(self, row: bytes) -> None:
        self._sum += int.from_bytes(sha256(row).digest())
        self.rows += 1

    def __str__(self) -> str:
        return f"{self._sum % (1 << _BITS):064x}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it was written."""

    name: str
    columns: tuple[str, ...]
    rows: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is in a backup. `revisions` are those of the schema; `sequences` the last number drawn
    for each generated column, as `table.column`; `server` the id of the server.
    """

    kind: Kind
    made_by: str
    made_at: datetime
    tables: tuple[Table, ...]
    revisions: tuple[str, ...] = ()
    sequences: Mapping[str, int] = field(default_factory=dict)
    server: str | None = None

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    def count(self, name: str) -> int:
        return sum(table.rows for table in self.tables if table.name == name)

    def to_json(self) -> str:
        values = {"format": FORMAT, **asdict(self), "made_at": self.made_at.isoformat()}
        return json.dumps(values, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        try:
            values: dict[str, Any] = json.loads(text)
            if values.pop("format") != FORMAT:
                raise InvalidInput(
                    "the backup was made by a newer version of Recollect",
                    field="DIR",
                    remedy="Restore it with the version that made it, or a newer one.",
                )
            tables = tuple(
                Table(**{**table, "columns": tuple(table["columns"])})
                for table in values.pop("tables")
            )
            made_at = datetime.fromisoformat(values.pop("made_at"))
            revisions = tuple(values.pop("revisions"))
            return cls(tables=tables, made_at=made_at, revisions=revisions, **values)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                "the manifest of the backup cannot be read",
                field="DIR",
                remedy="Restore another backup.",
            ) from error


def find_differences(expected: Sequence[Table], found: Sequence[Table]) -> list[str]:
    """Return the names of tables that are missing or have different contents."""
    contents = {table.name: (table.rows, table.checksum) for table in found}
    return [
        table.name for table in expected if contents.get(table.name) != (table.rows, table.checksum)
    ]
