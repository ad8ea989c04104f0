"""Vectors that an earlier version made, of turns of several projects in a session of one name."""

from __future__ import annotations

import asyncio

import psycopg
from alembic import command
from tests.adapters.postgres.test_migrations import schema
from tests.adapters.postgres.vectors.test_context import claimed, turn
from tests.adapters.postgres.vectors.test_context_projects import said
from tests.adapters.vectors import opened
from tests.conformance.samples import ids

from recollect.adapters.postgres.migrate import _migrating as migrating
from recollect.adapters.postgres.migrate import migrate
from recollect.adapters.postgres.vectors.support import vector_note

_OLD_SPACES = """
insert into spaces (embedder, model, revision, dimension, distance, query_instruction, state)
values ('new', 'new', '', 2, 'cosine', '', 'active'), ('old', 'old', '', 2, 'cosine', '', 'filling')
"""
_OLD_TURN = """
insert into memories (id, owner, content, category, tags, expanded_keywords, importance,
    is_sensitive, project, session, version, created_at, updated_at)
values (%(id)s, 'ada', %(content)s, 'episode', '{}', '{}', 0.5, false, %(project)s, 'chat', 1,
    %(at)s, %(at)s)
"""
_OLD_CONTEXT = """
insert into embedding_context (space_id, memory_id, before_id) select id, %s, %s from spaces
"""
_OLD_VECTOR = """
update embeddings set vector = '[1, 0]', context_hash = %s, due_at = %s where memory_id = %s
"""
_OLD_CLAIM = "update embeddings set vector = null, attempts = 1 where memory_id = %s"
_NOW = """
select memory_id, vector is null, context_hash, attempts, due_at <= now() from embeddings
order by memory_id, space_id
"""
_HELD = "select distinct memory_id, before_id from embedding_context order by 1, 2"


def test_vectors_with_turns_of_another_project_are_made_anew(empty_database_url: str) -> None:
    """What the version before made of five turns, and is making of a sixth."""
    projects = {1: "blue", 2: "blue", 3: "red", 4: "blue", 5: None, 6: None, 7: "red"}
    held = {2: [1], 3: [1, 2], 4: [2, 3], 5: [4], 6: [5], 7: [6]}
    hash, mark = b"h" * 32, b"\0"
    with migrating(empty_database_url) as config:
        command.upgrade(config, "main@head")
    assert vector_note(empty_database_url) == ""
    with migrating(empty_database_url) as config:
        command.upgrade(config, "vectors@0008v")
    before = schema(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        connection.execute(_OLD_SPACES)
        for number, project in projects.items():
            one = turn(number, f"turn {number}")
            params = {"content": one.content, "project": project, "at": one.created_at}
            connection.execute(_OLD_TURN, {"id": one.id, **params})
            for other in held.get(number, []):
                connection.execute(_OLD_CONTEXT, ids(number, other))
            context = hash if number in held else None
            connection.execute(_OLD_VECTOR, (context, one.created_at, one.id))
        connection.execute(_OLD_CLAIM, ids(7))
    migrate(empty_database_url)
    kept, again = (False, hash, 0, True), (True, mark, 0, True)
    with psycopg.connect(empty_database_url) as connection:
        found = connection.execute(_NOW).fetchall()
        assert [(row[0].int, row[1:]) for row in found[::2]] == [
            (1, (False, None, 0, True)),
            (2, kept),
            (3, again),
            (4, again),
            (5, again),
            (6, kept),
            (7, again),
        ]
        assert found[::2] == found[1::2], "in either space"
        assert connection.execute(_HELD).fetchall() == [tuple(ids(2, 1)), tuple(ids(6, 5))]

    async def embed() -> None:
        async with opened(empty_database_url) as (_, vectors):
            for space in await vectors.spaces():
                assert said(await claimed(vectors, space)) == {
                    3: "turn 3",
                    4: "turn 4\nturn 1\nturn 2",
                    5: "turn 5",
                    7: "turn 7\nturn 3",
                }

    asyncio.run(embed())
    with migrating(empty_database_url) as config:
        command.downgrade(config, "vectors@0008v")
    assert schema(empty_database_url) == before
