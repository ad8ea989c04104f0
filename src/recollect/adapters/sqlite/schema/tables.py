"""The tables, indexes and triggers of the local store.

They are in the scripts next to this module, with placeholders for values from the table of fields.

`user_version` is the version of this schema; `application_id` marks a file as ours, so that the
database of another program is never written to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from recollect.adapters.sqlite.rows import to_column
from recollect.adapters.sqlite.schema.graph import read_graph
from recollect.adapters.sqlite.schema.script import by_name, read_statements
from recollect.adapters.sqlite.schema.vectors import read_vectors, renew_vectors
from recollect.core.memory.fields import Kind
from recollect.core.memory.memory import FIELDS, STORED

APPLICATION_ID: Final = 0x52434C54  # "RCLT"
VERSION: Final = 5
_DONE: Final = f"PRAGMA user_version = {VERSION}"

_TYPES: Final[Mapping[Kind, str]] = {
    "id": "TEXT",
    "text": "TEXT",
    "texts": "TEXT",
    "number": "REAL",
    "count": "INTEGER",
    "flag": "INTEGER",
    "moment": "INTEGER",
    "links": "TEXT",
}
# Fields that memories did not have at first, by the version of the schema that added them.
ADDED: Final[Mapping[int, tuple[str, ...]]] = {3: ("valid_from", "valid_until", "changed_by")}


def _column(name: str) -> str:
    field = FIELDS[name]
    needed = "" if field.is_optional else " NOT NULL"
    default = "" if field.default is None else f" DEFAULT {to_column(field, field.default)!r}"
    return f"{name} {_TYPES[field.kind]}{needed}{default}"


def _columns(names: Iterable[str]) -> str:
    ordered = sorted(names, key=lambda name: name == "content")  # the long one last
    return ",\n    ".join(map(_column, ordered))


# The columns of a memory that are synced.
STATE_COLUMNS: Final = (*(field.name for field in STORED), "extra")
_VERSIONED: Final = [field.name for field in STORED if field.name not in ("id", "updated_at")]
RESERVED_PAGES: Final = 8
# Each row fills a page of its own.
FILL_RESERVE: Final = "INSERT INTO reserve (number, filler) VALUES (?, zeroblob(4000))"

# Terms are already words, separated by spaces: this tokenizer treats all non-ASCII characters as
# letters, and also the punctuation that terms contain.
TOKENIZER: Final = "tokenize=\"ascii tokenchars '_./@:+#-'\""


def beginning(text: str) -> str:
    """Return SQL for the beginning of a text without whitespace: enough for an index lookup."""
    for code in (32, 9, 10, 13):
        text = f"replace({text}, char({code}), '')"
    return f"substr({text}, 1, 64)"


@cache
def read_schema() -> tuple[str, ...]:
    """Return the statements that create a store in an empty file."""
    return (
        f"PRAGMA application_id = {APPLICATION_ID}",
        *_read_memories(),
        *read_statements("removed_texts.sql"),
        *read_statements("former_names.sql"),
        *read_vectors(),
        *read_graph(),
        *read_statements("curation.sql"),
        _DONE,
    )


@cache
def _read_memories() -> tuple[str, ...]:
    fill_reserve = (FILL_RESERVE.replace("?", str(number)) for number in range(RESERVED_PAGES))
    return read_statements(
        "memories.sql",
        fields=_columns(field.name for field in STORED),
        versioned_fields=_columns(_VERSIONED),
        beginning=beginning("content"),
        tokenizer=TOKENIZER,
        state=", ".join(STATE_COLUMNS),
        old_state=", ".join(f"old.{name}" for name in STATE_COLUMNS),
        versioned=", ".join(_VERSIONED),
        old_versioned=", ".join(f"old.{name}" for name in _VERSIONED),
        fill_reserve="\n".join(f"{statement};" for statement in fill_reserve),
    )


_RENAME_VALIDITY: Final = (
    "ALTER TABLE memory_versions RENAME COLUMN valid_from TO known_from",
    "ALTER TABLE memory_versions RENAME COLUMN valid_to TO known_until",
)
_FIND_REMOVED: Final = """
INSERT INTO removed_texts (owner, fingerprint, removed_at)
SELECT owner, fingerprint(salt, project, content), max(deleted_at) FROM memories, text_salt
WHERE deleted_at IS NOT NULL AND category <> 'episode' GROUP BY 1, 2
"""
OLDER: Final = range(1, VERSION)
"""The versions of stores that can be upgraded to this version."""


def read_upgrade(version: int) -> tuple[str, ...]:
    """Return the statements that upgrade a store of an older version to this one."""
    created = by_name(_read_memories())
    curation = read_statements("curation.sql")
    added = _add_fields(version)
    lifetimes = (*_RENAME_VALIDITY, *added, created["memories_by_expiry"])
    keep_removed = (
        "DROP TRIGGER IF EXISTS erasures_kept",
        created["erasures_kept"],
        *read_statements("removed_texts.sql"),
        _FIND_REMOVED,
    )
    named = (*read_statements("former_names.sql"), created["memories_by_ending"])
    upgrades = {
        1: (*lifetimes, *keep_removed, *read_vectors(), *read_graph(), *curation, *named),
        2: (*lifetimes, *keep_removed, *renew_vectors(), *curation, *named),
        3: (*added, *keep_removed, *named),
        4: (*added, *named),
    }
    return (*upgrades.get(version, added), _DONE)


def _add_fields(version: int) -> tuple[str, ...]:
    """Return the statements that add the fields that a store of this version lacks."""
    names = [name for added, names in ADDED.items() if added > version for name in names]
    if not names:
        return ()
    created = by_name(_read_memories())
    return (
        *(
            f"ALTER TABLE {table} ADD COLUMN {_column(name)}"
            for table in ("memories", "memory_versions", "states")
            for name in names
        ),
        "DROP TRIGGER versions_kept",
        created["versions_kept"],
        "DROP TRIGGER outbox_changed",
        created["outbox_changed"],
    )
