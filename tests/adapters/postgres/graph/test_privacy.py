"""Sensitive memories are not in the graph: Postgres enforces it, not only our code."""

from __future__ import annotations

from dataclasses import replace
from typing import LiteralString
from uuid import UUID

import psycopg
import pytest
from tests.chat_loopback import ChatLoopback, Sent, model, says
from tests.conformance.graphs import around, concept, memory, read_all, read_as, stated
from tests.conformance.samples import OWNER, fill
from tests.conformance.stores import rows

from recollect.adapters.models.language_model import CompatibleReader
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.errors import ModelUnavailable
from recollect.core.retry import EXTRACTION_RETRIES
from recollect.usecases.graph.extract import GraphContext
from recollect.usecases.graph.import_facts import import_facts
from recollect.usecases.graph.manage import LocalGraph
from recollect.usecases.workers.steps import GraphStep
from recollect.usecases.workers.worker import Worker

pytestmark = pytest.mark.anyio

CANARY = "Quetzalcoatlus"
TABLES = ("concepts", "concept_names", "memory_concepts", "concept_edges", "edge_evidence")

_MENTION: LiteralString = """
with made as (
    insert into concepts (id, owner, key, name, kind)
    values (gen_random_uuid(), 'ada', 'k', 'K', 'name') returning id
)
insert into memory_concepts (memory_id, key, concept_id, owner) select %s, 'k', id, 'ada' from made
"""
_EVIDENCE: LiteralString = """
with made as (
    insert into concepts (id, owner, key, name, kind)
    values (gen_random_uuid(), 'ada', 'k', 'K', 'name') returning id
), edge as (
    insert into concept_edges (id, owner, source, target, relation, valid_from, learned_at)
    select gen_random_uuid(), 'ada', id, id, 'r', now(), now() from made returning id
)
insert into edge_evidence (edge_id, memory_id, source_key, target_key, owner, stated_at)
select id, %s, 'k', 'k', 'ada', now() from edge
"""
_EXTRACTION: LiteralString = """
insert into extractions (memory_id, owner, content_hash) values (%s, 'ada', '')
"""


@pytest.mark.parametrize(
    ("forged", "constraint"),
    [
        (_MENTION, "mentions_by_what_may_leave"),
        (_EVIDENCE, "evidence_of_what_may_leave"),
        (_EXTRACTION, "extractions_of_what_may_leave"),
    ],
)
async def test_postgres_refuses_rows_of_a_sensitive_memory(
    emptied_database_url: str, forged: LiteralString, constraint: str
) -> None:
    async with PostgresStore(emptied_database_url) as store:
        await store.add(memory(1, is_sensitive=True))
        assert await rows(store, "select * from extractions") == []
    with (
        psycopg.connect(emptied_database_url) as connection,
        pytest.raises(psycopg.errors.ForeignKeyViolation, match=constraint),
    ):
        connection.execute(forged, (UUID(int=1),))


@pytest.mark.parametrize("table", ["memory_concepts", "edge_evidence", "extractions"])
def test_the_mark_of_what_may_leave_cannot_be_forged(emptied_database_url: str, table: str) -> None:
    with (
        psycopg.connect(emptied_database_url) as connection,
        pytest.raises(psycopg.errors.GeneratedAlways),
    ):
        connection.execute(f"insert into {table} (sensitive) values (true)")


async def test_postgres_refuses_to_leave_a_mention_behind(emptied_database_url: str) -> None:
    """With the trigger off, which removes it in time, the change itself fails."""
    async with PostgresStore(emptied_database_url) as store:
        await store.add(memory(1, f"about {CANARY}"))
        await read_all(store)
    with psycopg.connect(emptied_database_url) as connection:
        connection.execute("alter table memories disable trigger graph_outdated")
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute("update memories set is_sensitive = true")


async def _holds_canary(store: PostgresStore) -> list[str]:
    return [
        table
        for table in (*TABLES, "extractions", "near_concepts")
        if any(
            CANARY.lower() in str(row).lower()
            for row in await rows(store, f"select t::text from {table} t")
        )
    ]


@pytest.mark.parametrize(
    "way",
    [
        f"{before}{way}"
        for before in ("", "edited, ", "mended, ", "mended, edited, ", "unsaid, mended, edited, ")
        for way in ("flip", "erase")
    ],
)
async def test_what_becomes_sensitive_or_is_erased_leaves_nothing(
    emptied_database_url: str, way: str
) -> None:
    async with PostgresStore(emptied_database_url) as store:
        first = memory(1, f"Ada knows {CANARY}")
        await fill(store, first, memory(2, "Ada knows Bob"))
        extraction = stated(("Ada", "knows", CANARY))
        if "unsaid" in way:
            extraction = replace(extraction, facts=())
        await read_as(store, {1: extraction, 2: stated(("Ada", "knows", "Bob"))})
        assert await _holds_canary(store)
        version = 1
        if "mended" in way:
            await LocalGraph(store.graph, OWNER).merge("Bob", CANARY)
        if "edited" in way:
            version += 1
            await store.replace(replace(first, content="other", version=2), based_on=1)
            assert "concept_edges" not in await _holds_canary(store)
            assert await _holds_canary(store)  # former text is retained until it is erased
        before = await store.graph.version(OWNER)
        if "erase" in way:
            await store.erase(OWNER, first.id)
        else:
            changed = replace(first, is_sensitive=True, version=version + 1)
            assert await store.replace(changed, based_on=version)
        assert await _holds_canary(store) == []
        assert await store.graph.version(OWNER) > before
        assert (await around(store, "Ada")).concept.mentions == 1
        left = await store.graph.claim(10_000, 10)
        assert [job.memory_id for job in left] == [UUID(int=2)]


async def test_the_language_model_never_sees_a_sensitive_memory(
    emptied_database_url: str,
) -> None:
    with ChatLoopback(model(says(("Ada", "knows", "Bob")))) as server:
        async with (
            PostgresStore(emptied_database_url) as store,
            CompatibleReader(server.url, "m", egress="local", retries=EXTRACTION_RETRIES) as reader,
        ):
            first = memory(3, f"Ada met {CANARY}")
            await fill(
                store,
                memory(1, f"Ada met {CANARY}", is_sensitive=True),
                memory(2, "Ada met Bob", tags=(CANARY,), expanded_keywords=(CANARY,)),
                first,
            )
            await store.replace(replace(first, is_sensitive=True, version=2), based_on=1)
            context = GraphContext(store.graph, "llm", reader=reader, calls=10)
            await Worker(GraphStep(context)).work_off()
            assert [edge.relation for edge in (await around(store, "Ada")).relationships] == [
                "knows"
            ]
            progress = await store.graph.progress(1_000)
            assert (progress.extracted, progress.calls_today, progress.tokens_today) == (1, 1, 123)
    assert len(server.requests) == 1
    assert CANARY.encode() not in server.received


async def test_the_same_text_is_sent_once_and_a_days_calls_are_bounded(
    emptied_database_url: str,
) -> None:
    with ChatLoopback(model(says(("Ada", "knows", "Bob")))) as server:
        async with (
            PostgresStore(emptied_database_url) as store,
            CompatibleReader(server.url, "m", egress="local", retries=EXTRACTION_RETRIES) as reader,
        ):
            context = GraphContext(store.graph, "llm", reader=reader, calls=1)
            await fill(store, memory(1, "Ada met Bob"))
            await Worker(GraphStep(context)).work_off()
            await fill(store, memory(2, "Ada met Bob"))
            await Worker(GraphStep(context)).work_off()
            assert len(server.requests) == 1
            assert (await around(store, "Ada")).concept.mentions == 2
            await fill(store, memory(3, "Ada and Bob met Carol"))
            with pytest.raises(ModelUnavailable, match="used up"):
                await Worker(GraphStep(context)).work_off()
            assert len(server.requests) == 1
            assert await concept(store, "Carol") is not None  # by rules
            progress = await store.graph.progress(1_000)
            assert (progress.waiting, progress.parked) == (1, 0)


async def test_what_the_model_did_not_answer_is_counted_against_that_text_alone(
    emptied_database_url: str,
) -> None:
    def forgetful(sent: Sent) -> str:
        answered = [message for message in sent if "odd" not in message["text"]]
        return model(says(("Ada", "knows", "Bob")))(answered)

    with ChatLoopback(forgetful) as server:
        async with (
            PostgresStore(emptied_database_url) as store,
            CompatibleReader(server.url, "m", egress="local", retries=EXTRACTION_RETRIES) as reader,
        ):
            await fill(store, memory(1, "Ada met Bob"), memory(2, "an odd text"))
            await Worker(
                GraphStep(GraphContext(store.graph, "llm", reader=reader, calls=9))
            ).work_off()
            progress = await store.graph.progress(1_000)
    assert (progress.extracted, progress.waiting) == (1, 1)
    assert progress.last_error == "the language model returned nothing usable for this text"


async def test_an_import_passes_a_sensitive_memory_by(emptied_database_url: str) -> None:
    async with PostgresStore(emptied_database_url) as store:
        await fill(store, memory(1, is_sensitive=True))
        line = f'{{"memory": "{UUID(int=1)}", "triples": [["Ada", "knows", "{CANARY}"]]}}'
        done = await import_facts(store.graph, OWNER, [line])
        assert (done.memories, [error.line for error in done.errors]) == (0, [1])
        assert await _holds_canary(store) == []
