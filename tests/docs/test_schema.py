"""The diagram and the list of tables in docs/schema.md are those of a migrated database."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import psycopg
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "schema.md"

_COLUMNS = """
select c.relname, t.typname, a.attname, bool_or(k.contype = 'p') as is_primary
from pg_class c
left join pg_constraint k on k.conrelid = c.oid and k.contype in ('p', 'f')
left join pg_attribute a on a.attrelid = c.oid and a.attnum = any(k.conkey)
left join pg_type t on t.oid = a.atttypid
where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
    and c.relname <> 'schema_revisions'
group by c.relname, t.typname, a.attname, a.attnum
order by c.relname, a.attnum
"""
_REFERENCES = """
select t.relname, c.relname, string_agg(a.attname, ', ' order by n.place)
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_class t on t.oid = k.confrelid
cross join lateral unnest(k.conkey) with ordinality n(attnum, place)
join pg_attribute a on a.attrelid = c.oid and a.attnum = n.attnum
where k.connamespace = 'public'::regnamespace and k.contype = 'f'
group by k.oid, t.relname, c.relname
order by 1, 2, 3
"""


@pytest.fixture
def catalog(database_url: str) -> tuple[list[Any], list[Any]]:
    with psycopg.connect(database_url) as connection:
        return (
            connection.execute(_COLUMNS).fetchall(),
            connection.execute(_REFERENCES).fetchall(),
        )


def draw(columns: list[Any], references: list[Any]) -> str:
    """Draw the tables with the columns of their keys, and the references between them."""
    used = {(table, name) for _, table, names in references for name in names.split(", ")}
    tables: dict[str, list[str]] = defaultdict(list)
    for table, kind, name, is_primary in columns:
        if name is None:
            tables[table] = []
            continue
        keys = [
            key for key, is_one in (("PK", is_primary), ("FK", (table, name) in used)) if is_one
        ]
        tables[table].append(f"        {kind} {name} {', '.join(keys)}".rstrip())
    lines = ["erDiagram"]
    for table, found in tables.items():
        lines += [f"    {table} {{", *found, "    }"] if found else [f"    {table}"]
    lines += [f'    {target} ||--o{{ {table} : "{names}"' for target, table, names in references]
    return "\n".join(lines)


def test_the_diagram_shows_the_keys_of_the_database(catalog: tuple[list[Any], list[Any]]) -> None:
    drawn = re.findall(r"^```mermaid\n(.*?)\n```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert drawn == [draw(*catalog)], "replace the diagram in docs/schema.md with the one above"


def test_every_table_is_described(catalog: tuple[list[Any], list[Any]]) -> None:
    described = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(described) == sorted({table for table, *_ in catalog[0]})


def test_every_key_begins_with_the_owner(catalog: tuple[list[Any], list[Any]]) -> None:
    """Except for the tables that, by the page, belong to the server."""
    _, listed = PAGE.read_text().split("## Tables of the server")
    servers = re.findall(r"^\| `(\w+)` \|", listed, re.MULTILINE)
    owned = {table for table, _, name, is_primary in catalog[0] if name == "owner" and is_primary}
    assert {table for table, *_ in catalog[0]} - owned == set(servers)
    assert all(names.startswith("owner, ") for _, _, names in catalog[1])
