"""Remove every trace of one memory, including its rare words."""

from __future__ import annotations

from pathlib import Path
from typing import Final, LiteralString
from uuid import UUID

from psycopg import sql

from recollect.adapters.postgres.pool import Pool

# A word that no memory contains any more, or only sensitive ones, must not remain in the
# frequencies. A word of more than a thousand memories remains until they are next counted: looking
# up each of the common words in the index made an erasure among 40,000 memories take 35 ms instead
# of 2.
ERASE: Final = r"""
with gone as (
    delete from memories where owner = %(owner)s and id = %(id)s
    returning owner, id, search_vector
), unused_words as (
    delete from lexeme_stats s using gone
    where s.owner = %(owner)s
        and s.lexeme = any(tsvector_to_array(gone.search_vector)) and s.ndoc <= 1000
        and not exists (
            select from own_memories m
            where m.owner = %(owner)s and m.id <> gone.id and not m.is_sensitive
                and m.search_vector
                @@ ('''' || replace(replace(s.lexeme, '\', '\\'), '''', '''''') || '''')::tsquery
        )
)
select id from gone
"""


# Removing what deleted rows leave behind: dead rows, the planner's statistics and, in our own
# cluster, the bytes in its files.

# has_vectors: rebuilding their index takes minutes, and they contain numbers, not text.
_TABLES: Final = """
select c.relname as name, exists (
    select from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am a on a.oid = x.relam
    where i.indrelid = c.oid and a.amname = 'hnsw') as has_vectors
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = current_schema() and c.relkind in ('r', 'p', 'm') order by 1
"""
# Segments before the last checkpoint are removed, not recycled: see the embedded configuration.
_EMPTY_LOG: Final[tuple[LiteralString, ...]] = (
    "checkpoint",
    "select pg_switch_wal()",
    "checkpoint",
)
# An empty table keeps the statistics of its former rows, so it gets a placeholder row to be
# analyzed. Triggers add those of links and of former versions.
_STAND_IN: Final[tuple[LiteralString, ...]] = (
    """
insert into memories (id, owner, content, category, tags, expanded_keywords, importance,
    is_sensitive, version, created_at, updated_at, links)
values (%(id)s, '', '-', 'note', '{-}', '{-}', 0, false, 1, now(), now(),
    jsonb_build_array(jsonb_build_object('kind', '-', 'target', %(id)s)))
""",
    "update memories set version = 2 where owner = '' and id = %(id)s",
    """
insert into revisions (id, owner, memory_id, kind, fields, made_at, position)
values (%(id)s, '', %(id)s, 'edit', '{}', now(), 0)
""",
    "insert into concepts (id, owner, key, name, kind) values (%(id)s, '', '-', '-', '-')",
    "insert into concept_names (owner, key, concept_id, name) values ('', '-', %(id)s, '-')",
    """
insert into memory_concepts (memory_id, key, concept_id, owner)
values (%(id)s, '-', %(id)s, '')
""",
    """
insert into concept_edges (id, owner, source, target, relation, valid_from, learned_at)
values (%(id)s, '', %(id)s, %(id)s, '-', now(), now())
""",
    """
insert into edge_evidence (edge_id, memory_id, source_key, target_key, owner, stated_at)
values (%(id)s, %(id)s, '-', '-', '', now())
""",
    """
insert into proposals (owner, id, kind, newer, older, newer_version, older_version, newer_quote,
    older_quote, reason, confidence, decided_by, created_at, state)
values ('', %(id)s, '-', %(id)s, %(id)s, 2, 2, '-', '-', '-', 0, '-', now(), 'open')
""",
    """
insert into curation_journal (owner, id, proposal, kind, survivor, superseded, addition,
    accepted_by, accepted_at)
values ('', %(id)s, %(id)s, '-', %(id)s, %(id)s, '{}', '-', now())
""",
    "insert into lexeme_stats (owner, lexeme, ndoc) values ('', '-', 1)",
    "analyze",
    "delete from memories where owner = '' and id = %(id)s",
    "delete from changes where owner = '' and memory_id = %(id)s",
    "delete from removed_texts where owner = ''",
    "delete from owners where owner = ''",
    "delete from lexeme_stats where owner = ''",
    "delete from graph_versions where owner = ''",
)
_PLACEHOLDER_ID: Final = UUID("00000000-0000-7000-8000-000000000000")

LEFT_IN_FILES: Final = (
    "the data files and the write-ahead log of this Postgres still hold the bytes. To remove them, "
    "run as a superuser in this database: vacuum full; checkpoint; select pg_switch_wal(); "
    "checkpoint; then wait until the log's segments are overwritten or removed (wal_recycle = off "
    "removes them). Archived log, standbys and backups keep them until they expire."
)


async def remove_traces(pool: Pool, files: Path | None) -> None:
    """Remove deleted rows from the tables, their indexes and their statistics; in our own cluster
    also from its `files`: a plain vacuum only frees their space, but a rewritten table no longer
    has their bytes.
    """
    async with pool.dedicated() as connection:
        cursor = await connection.execute(_TABLES)
        for row in await cursor.fetchall():
            is_rewritten = files and not row["has_vectors"]
            vacuum = sql.SQL("vacuum full {}" if is_rewritten else "vacuum {}")
            await connection.execute(vacuum.format(sql.Identifier(row["name"])))
        async with connection.transaction():
            for statement in _STAND_IN:
                await connection.execute(statement, {"id": _PLACEHOLDER_ID})
        if files:
            await connection.execute("vacuum full pg_statistic")
            for statement in _EMPTY_LOG:
                await connection.execute(statement)
