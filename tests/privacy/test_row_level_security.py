"""The second barrier: what a statement without its owner condition can still see.

Every statement of the adapter that acts for one owner runs with its owner conditions removed, one
after the other and all at once. Another owner has the same memories under the same ids, with other
words: without row-level security nearly every statement would return or change those.
"""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.conninfo import conninfo_to_dict
from tests.conformance.graphs import stated
from tests.conformance.samples import memory
from tests.conformance.stores import NORTH, SPACE, embed_all, opened
from tests.conftest import Cluster
from tests.effort import EFFORT
from tests.strategies import new_id

from recollect.adapters.postgres import store as postgres
from recollect.adapters.postgres.access import ADMIN, WORKER
from recollect.adapters.postgres.lexical.reanalysis import Outdated, reanalyze
from recollect.adapters.postgres.lexical.search import LexicalSearch, search
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.rows import within
from recollect.adapters.postgres.statistics import Statistics
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.curation.proposals import STATES, Addition, JournalEntry, Proposal
from recollect.core.errors import RecollectError
from recollect.core.graph.extraction import BY_RULES, join_extraction, to_mention
from recollect.core.graph.resolution import Neighbour, PendingConcept
from recollect.core.memory.ids import IdPart
from recollect.core.memory.links import Link
from recollect.core.memory.listing import Listing
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.memory.memory import Limits as MemoryLimits
from recollect.core.recall.settings import WordQuery
from recollect.core.recall.space import StoredSpace
from recollect.core.sync.decide import decide
from recollect.core.sync.model import Outgoing, Revision
from recollect.core.text.terms import VERSION
from recollect.ports.curation import ChangedMemories
from recollect.ports.recall import VectorQuery

pytestmark = pytest.mark.anyio

OWNER, OTHER = "ada", "victim"
SECRET = "xsecretx"
DEVICE = UUID(int=7)
PUSHED = new_id()

# Tables without owner data, and what they hold. Every other table has the policies.
SHARED = {
    "schema_revisions": "the version of the schema",
    "curation_budget": "calls to the model a day",
    "erasure_logs": "how far into each erasure log this database is",
    "extraction_budget": "calls to the model a day",
    "recalls_kept": "since when recalls are recorded",
    "settings": "settings of the server",
    "settings_audit": "who changed which setting",
    "spaces": "the models of the vectors",
    "sync_server": "which server this is",
}

# Statements with an owner condition that do not act for one owner: they run as a worker or as the
# administrator, see docs/adr/0040.
FOR_EVERYONE = (
    "select (select count(*) from changes where owner",  # counted for the report of an erasure
    "where t.{column} = any(%(ids)s) and coalesce({whose}",  # what is left of an owner
    "select count(*) as found from",  # for the indexes of large owners
    "select from memories m where m.owner = %(owner)s and m.id = any(%(ids)s)",  # a sweep
    "insert into embeddings (owner, memory_id, space_id, content_hash) select m.owner",  # the same
)


@dataclass
class Interceptor:
    """Sees every statement on its way to the driver, and changes one of them."""

    seen: list[str] = field(default_factory=list)
    change: tuple[str, int | None] | None = None

    def pass_on(self, text: str) -> str:
        self.seen.append(text)
        if self.change is None or self.change[0] != text:
            return text
        chosen = self.change[1]
        number = -1

        def without(found: re.Match[str]) -> str:
            nonlocal number
            number += 1
            if chosen not in (None, number):
                return found[0]
            return f"{found['param']}::text is not null" if found["param"] else "true"

        return CONDITION.sub(without, text)


CONDITION = re.compile(
    r"(?:\b\w+\.)?\bowner = (?:(?P<param>%\(owner\)s|%s)|'\w*'|\w+\.owner\b)(?!\w)"
)


@contextmanager
def intercepted() -> Iterator[Interceptor]:
    interceptor = Interceptor()
    execute, executemany = AsyncCursor.execute, AsyncCursor.executemany

    def text_of(query: Any, cursor: AsyncCursor[Any]) -> str:
        whole = query if isinstance(query, str) else query.as_string(cursor.connection)
        return interceptor.pass_on(whole)

    async def run(self: AsyncCursor[Any], query: Any, *args: Any, **options: Any) -> Any:
        return await execute(self, text_of(query, self), *args, **options)

    async def run_many(self: AsyncCursor[Any], query: Any, *args: Any, **options: Any) -> Any:
        return await executemany(self, text_of(query, self), *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AsyncCursor, "execute", run)
        patch.setattr(AsyncCursor, "executemany", run_many)
        yield interceptor


@dataclass
class Rig:
    store: PostgresStore
    vectors: PostgresVectors
    space: StoredSpace
    admin_url: str
    concepts: Mapping[str, UUID] = field(default_factory=dict)

    def of_other(self) -> dict[str, list[Any]]:
        """Return all that the other owner has, read as the administrator."""
        with psycopg.connect(self.admin_url) as connection:
            return {
                table: connection.execute(
                    sql.SQL("select t::text from {} t where owner = %s order by 1").format(
                        sql.Identifier(table)
                    ),
                    (OTHER,),
                ).fetchall()
                for table in owned_tables(connection)
            }


def owned_tables(connection: psycopg.Connection[Any]) -> list[str]:
    found = connection.execute(
        "select relname from pg_class where relnamespace = 'public'::regnamespace"
        " and relkind in ('r', 'p') order by 1"
    ).fetchall()
    return [name for (name,) in found if name not in SHARED]


def admin_url(cluster: Cluster, url: str) -> str:
    name = str(conninfo_to_dict(url)["dbname"])
    return psycopg.conninfo.make_conninfo(cluster.admin_url, dbname=name)


MEMORIES = (
    memory(1, "The lighthouse keeper Ada Byron drinks elderflower tea", project="coast"),
    memory(2, "Ada Byron moved to Marblehead", links=(Link("supersedes", UUID(int=1)),)),
    memory(3, "The PIN of the lighthouse is 4711", is_sensitive=True),
    memory(4, "We talked about the lighthouse", category="episode", session="s", project="coast"),
    memory(5, "And about the tea of the lighthouse", category="episode", session="s"),
    memory(6, "A former lighthouse", deleted_at=memory(9).created_at),
    memory(7, "The lighthouse has a red door", project="coast"),
)
EDITED = replace(
    MEMORIES[6],
    content="The lighthouse has a blue door",
    version=2,
    updated_at=memory(30).created_at,
)
BEFORE_EDIT = memory(20).created_at


@pytest.fixture
async def rig(database_url: str, cluster: Cluster) -> AsyncIterator[Rig]:
    """Word frequencies are stored from the first memory on, as for an owner with many."""
    async with opened(database_url, limits=Limits(live_words=1)) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        rig = Rig(store, vectors, space, admin_url(cluster, database_url))
        await store.add_many(MEMORIES)
        assert await store.replace(EDITED, based_on=1)
        await store.maintain()
        await embed_all(vectors, space)
        facts = stated(("Ada Byron", "lives in", "Marblehead"), ("Ada Byron", "knows", "Zeb Quill"))
        entities = join_extraction(
            tuple(mention for mention in map(to_mention, ("Ada Byron", "Blue Kettle")) if mention),
            (),
        )
        while jobs := await store.graph.claim(BY_RULES, 100):
            await store.graph.finish(
                [(job, entities if job.memory_id == ALL[1] else facts) for job in jobs], BY_RULES
            )
        names = ["ada byron", "marblehead", "zeb quill", "blue kettle"]
        rig.concepts = await store.graph.named(OWNER, names)
        assert len(rig.concepts) == len(names)
        await save_near(rig)
        await store.changes.keep_revisions(OWNER, [REVISION])
        await store.recalls.note_recalls(OWNER, [UUID(int=1)], BEFORE_EDIT)
        (job, *_) = await store.graph.present(OWNER, [UUID(int=1)])
        await store.graph.keep_answer(job, "model", {"said": "tea"})
        await store.curation.keep_proposals(OWNER, [PROPOSAL])
        assert await accept_proposal(rig, PROPOSAL.id, ENTRY)
        clone(rig.admin_url)
        yield rig


REVISION = Revision(UUID(int=50), UUID(int=1), "edit", {"content": "tea"}, BEFORE_EDIT)


PROPOSAL = Proposal(
    id=UUID(int=80),
    kind="supersedes",
    newer=EDITED.id,
    older=MEMORIES[0].id,
    newer_version=2,
    older_version=1,
    newer_quote="a blue door",
    older_quote="elderflower tea",
    reason="tea",
    confidence=0.5,
    decided_by="rules",
    created_at=BEFORE_EDIT,
)
ENTRY = UUID(int=81)


async def accept_proposal(rig: Rig, proposal: UUID, entry: UUID) -> bool:
    known = await rig.store.get(OWNER, EDITED.id) or EDITED
    accepted = JournalEntry(
        entry, proposal, "supersedes", EDITED.id, ALL[0], Addition(), OWNER, BEFORE_EDIT
    )
    newer = replace(known, version=known.version + 1)
    return await rig.store.curation.accept(OWNER, accepted, newer, based_on=known.version)


async def curate(rig: Rig) -> object:
    """Propose, put off, accept and undo, once the memory has changed."""
    await edit(rig)
    known = await rig.store.get(OWNER, EDITED.id) or EDITED
    proposal = replace(PROPOSAL, id=uuid4(), newer_version=known.version)
    proposals = await rig.store.curation.keep_proposals(OWNER, [proposal])
    await rig.store.curation.decide(OWNER, proposal.id, "later")
    entry = uuid4()
    await accept_proposal(rig, proposal.id, entry)
    newer = replace(known, version=known.version + 2)
    undone = await rig.store.curation.undo(
        OWNER, entry, newer, based_on=known.version + 1, at=BEFORE_EDIT
    )
    await rig.store.curation.mark_examined(ChangedMemories(OWNER, (), 1))
    return proposals, undone


def clone(url: str) -> None:
    """Create another owner with all that the owner has, under the same ids, in other words and with
    other numbers; and copy all about the first memory once more, as another memory.
    """
    with psycopg.connect(url) as connection:
        connection.execute("set session_replication_role = replica")
        for table in set(owned_tables(connection)) - {"keys"}:
            found = connection.execute(
                "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0"
                " and not attisdropped and attgenerated = '' order by attnum",
                (table,),
            ).fetchall()
            names = [name for (name,) in found]
            copied: dict[str, sql.Composable] = {name: sql.Identifier(name) for name in names}
            copied["owner"] = sql.Literal(OTHER)
            for name in {"content", "name"} & {*names}:
                copied[name] = sql.SQL("{} || {}").format(sql.Literal(SECRET), copied[name])
            numbers = {"number", "ndoc", "position", "times"} & {*names}
            for name in numbers | ({"version"} if table == "graph_versions" else set()):
                copied[name] = sql.SQL("{} + 1000").format(copied[name])
            _copy(connection, table, copied, sql.SQL("true"))
            for name in {"memory_id"} & {*names} or {"id"} & {*names}:
                first = sql.SQL("{} = {}").format(sql.Identifier(name), sql.Literal(ALL[0]))
                _copy(connection, table, copied | {name: sql.Literal(UUID(int=99))}, first)


def _copy(
    connection: psycopg.Connection[Any],
    table: str,
    columns: Mapping[str, sql.Composable],
    which: sql.Composable,
) -> None:
    statement = sql.SQL(
        "insert into {table} ({names}) overriding system value"
        " select {values} from {table} where owner = {owner} and {which} on conflict do nothing"
    ).format(
        table=sql.Identifier(table),
        names=sql.SQL(", ").join(map(sql.Identifier, columns)),
        values=sql.SQL(", ").join(columns.values()),
        owner=sql.Literal(OWNER),
        which=which,
    )
    connection.execute(statement)


async def save_near(rig: Rig) -> None:
    ada, zeb = (
        PendingConcept(rig.concepts[name], OWNER, name, "name")
        for name in ("ada byron", "zeb quill")
    )
    near = Neighbour(zeb.id, zeb.name, zeb.kind, 0.9)
    await rig.store.graph.save_neighbours(rig.space, [(ada, [near])])


Call = Callable[[Rig], Awaitable[object]]
WORDS = WordQuery("lighthouse tea", depth=50)
ALL = [stored.id for stored in MEMORIES]
FROM, TO = "ada byron", "marblehead"


async def search_by_index(rig: Rig) -> object:
    """Search as in a large scope, where not all memories are read."""
    condition, params = within(OWNER, EVERYWHERE)
    query = LexicalSearch(condition, params, depth=50, small_scope=-1)
    async with rig.store.pool.reading(OWNER) as connection:
        return await search(connection, WORDS.text, query)


async def changes(rig: Rig) -> object:
    page = await rig.store.changes.page(OWNER, DEVICE, 0, 100, sensitive=True, count=True)
    return page, await rig.store.changes.revisions(OWNER)


def nearest(
    scope: Scope = EVERYWHERE, *, use_index: bool = False, has_passages: bool = True
) -> Call:
    def search(rig: Rig) -> Awaitable[object]:
        asked = VectorQuery(rig.space, NORTH, use_index, depth=50, has_passages=has_passages)
        return rig.vectors.nearest(OWNER, scope, asked)

    return search


READS: dict[str, Call] = {
    "get": lambda rig: rig.store.get(OWNER, UUID(int=3)),
    "get many": lambda rig: rig.store.get_many(OWNER, ALL, forgotten=True),
    "fetch": lambda rig: rig.store.fetch(OWNER, ALL),
    "fetch as of": lambda rig: rig.store.fetch(OWNER, ALL, BEFORE_EDIT),
    "follow": lambda rig: rig.store.follow(OWNER, ALL[:1], ALL),
    "follow as of": lambda rig: rig.store.follow(OWNER, ALL[:1], ALL, BEFORE_EDIT),
    "prefix": lambda rig: rig.store.ids_with_prefix(
        OWNER, IdPart("", "0" * 28), 50, forgotten=True
    ),
    "endings": lambda rig: rig.store.ids_with_endings(OWNER, ["0003"], forgotten=True),
    "page": lambda rig: rig.store.page(OWNER, EVERYWHERE, None, 50),
    "page of a project": lambda rig: rig.store.page(OWNER, Scope(project="coast"), None, 50),
    "words": lambda rig: rig.store.search_words(OWNER, EVERYWHERE, WORDS),
    "words by index": search_by_index,
    "words as of": lambda rig: rig.store.search_words(
        OWNER, EVERYWHERE, replace(WORDS, as_of=BEFORE_EDIT)
    ),
    "projects": lambda rig: rig.store.projects(OWNER),
    "former names": lambda rig: rig.store.former_names(OWNER),
    "stats": lambda rig: rig.store.stats(OWNER),
    "same text": lambda rig: rig.store.find_same([replace(MEMORIES[0], id=UUID(int=77))]),
    "removed texts": lambda rig: rig.store.find_removed(OWNER, [(None, MEMORIES[0].content)]),
    "changes": changes,
    "recalled": lambda rig: rig.store.recalls.recalled(OWNER),
    "pairs": lambda rig: rig.store.recalls.pairs(OWNER, 0.5),
    "proposals": lambda rig: rig.store.curation.proposals(OWNER, STATES, 50),
    "proposal": lambda rig: rig.store.curation.proposal(OWNER, PROPOSAL.id),
    "journal": lambda rig: rig.store.curation.journal(OWNER, 50, undone=True),
    "journal entry": lambda rig: rig.store.curation.journal_entry(OWNER, ENTRY),
    "curation counts": lambda rig: rig.store.curation.counts(OWNER),
    "to examine": lambda rig: rig.store.curation.read_changed(OWNER, 0, 10_000, 50),
    "survey": lambda rig: rig.vectors.survey(OWNER, EVERYWHERE),
    "nearest, compared": nearest(),
    "nearest of short texts": nearest(has_passages=False),
    "nearest in a project": nearest(Scope(project="coast")),
    "nearest, by index": nearest(use_index=True),
    "parked": lambda rig: rig.vectors.parked(OWNER, UUID(int=1)),
    "embedding progress": lambda rig: rig.vectors.progress(rig.space, OWNER),
    "graph version": lambda rig: rig.store.graph.version(OWNER),
    "named": lambda rig: rig.store.graph.named(OWNER, [FROM, TO]),
    "written": lambda rig: rig.store.graph.written(OWNER, [FROM, TO]),
    "snapshot": lambda rig: rig.store.graph.snapshot(OWNER),
    "snapshot as of": lambda rig: rig.store.graph.snapshot(OWNER, BEFORE_EDIT),
    "path": lambda rig: rig.store.graph.path(OWNER, rig.concepts[FROM], rig.concepts[TO]),
    "path by memories": lambda rig: rig.store.graph.path(
        OWNER, rig.concepts["blue kettle"], rig.concepts[TO]
    ),
    "paths": lambda rig: rig.store.graph.paths(OWNER, [rig.concepts[FROM]], UUID(int=2)),
    "neighbourhood": lambda rig: rig.store.graph.neighbourhood(OWNER, rig.concepts[FROM], 50),
    "neighbourhood as of": lambda rig: rig.store.graph.neighbourhood(
        OWNER, rig.concepts[FROM], 50, BEFORE_EDIT, history=True
    ),
    "graph stats": lambda rig: rig.store.graph.stats(OWNER),
    "present": lambda rig: rig.store.graph.present(OWNER, ALL),
    "answers": lambda rig: answers(rig),
    "graph progress": lambda rig: rig.store.graph.progress(BY_RULES, OWNER),
    "versions": lambda rig: rig.store.versions(OWNER, UUID(int=3)),
    "growth": lambda rig: rig.store.growth(OWNER, date(2020, 1, 1)),
    "change mark": lambda rig: rig.store.change_mark(OWNER),
    "table": lambda rig: rig.store.table(OWNER, Listing(EVERYWHERE)),
    "has vector": lambda rig: rig.vectors.has_vector(OWNER, UUID(int=3)),
    "concepts of": lambda rig: rig.store.graph.concepts_of(OWNER, UUID(int=3)),
    "token vectors": lambda rig: rig.vectors.token_vectors(OWNER, rig.space, dict.fromkeys(ALL)),
    "token bytes": lambda rig: rig.vectors.token_bytes(rig.space, OWNER),
}


async def answers(rig: Rig) -> object:
    jobs = await rig.store.graph.present(OWNER, ALL)
    return await rig.store.graph.answers(OWNER, "model", [job.ticket for job in jobs])


async def edit(rig: Rig) -> object:
    known = await rig.store.get(OWNER, UUID(int=7)) or EDITED
    newer = replace(known, version=known.version + 1, content=f"door {known.version}")
    return await rig.store.replace(newer, based_on=known.version)


async def become_sensitive(rig: Rig) -> object:
    known = await rig.store.get(OWNER, UUID(int=7)) or EDITED
    hidden = replace(known, version=known.version + 1, is_sensitive=True)
    return await rig.store.replace(hidden, based_on=known.version)


async def push(rig: Rig) -> object:
    """Push a new memory or an edit of it, an erasure, and the erasure of an unknown memory."""
    now = memory(40).created_at
    known = await rig.store.get(OWNER, PUSHED)
    version = 0 if known is None else known.version
    fields = {"content": f"pushed {version}", "category": "fact"}
    items = [
        Outgoing(PUSHED, uuid4(), version, version + 1, fields, now, now),
        Outgoing(UUID(int=1), uuid4(), 1, 2, None, now, now),
        Outgoing(UUID(int=61), uuid4(), 1, 2, None, now, now),
    ]
    return await rig.store.changes.apply(
        OWNER, DEVICE, items, lambda current, at: decide(OWNER, current, at, MemoryLimits(), now)
    )


async def revise(rig: Rig) -> None:
    await rig.store.changes.keep_revisions(OWNER, [REVISION])
    with suppress(RecollectError):
        await rig.store.changes.resolve(OWNER, replace(REVISION, resolved_at=BEFORE_EDIT))


async def read_again(rig: Rig) -> object:
    jobs = await rig.store.graph.present(OWNER, ALL)
    facts = stated(("Ada Byron", "knows", "Zeb Quill"))
    first = await rig.store.graph.finish([(job, facts) for job in jobs], BY_RULES)
    facts = stated(("Ada Byron", "lives in", "Marblehead"), ("Zeb Quill", "likes", "Marblehead"))
    return first, await rig.store.graph.finish([(job, facts) for job in jobs], BY_RULES)


async def merge_and_split(rig: Rig) -> object:
    known = await rig.store.graph.named(OWNER, [FROM, TO, "zeb quill"])
    into, merged_id = known.get(FROM), known.get("zeb quill")
    if into is None or merged_id is None:
        return None
    merged = await rig.store.graph.merge(OWNER, into, merged_id, by_hand=True)
    apart = await rig.store.graph.split(OWNER, into, "zeb quill", "Zeb Quill")
    return merged, await rig.store.graph.merge(OWNER, into, apart, by_hand=False)


async def keep_answer(rig: Rig) -> None:
    (job, *_) = await rig.store.graph.present(OWNER, ALL)
    await rig.store.graph.keep_answer(job, "model", {"said": "tea"})


async def analyze_again(rig: Rig) -> None:
    """Analyze again, as if the results of this analyzer version were outdated."""
    for is_version in (False, True):
        async with rig.store.pool.transaction(OWNER) as connection:
            await reanalyze(connection, Outdated(OWNER, VERSION, is_version), 100)


WRITES: dict[str, Call] = {
    "rename a project": lambda rig: rig.store.rename_project(
        OWNER, "coast", "shore", by="test", at=BEFORE_EDIT
    ),
    "add": lambda rig: rig.store.add(memory(70)),
    "add unless known": lambda rig: rig.store.add_unless_known(memory(71, "The PIN is 4711")),
    "add all": lambda rig: rig.store.add_all([memory(1), memory(72)]),
    "edit": edit,
    "curate": curate,
    "push": push,
    "revise": revise,
    "note recalls": lambda rig: rig.store.recalls.note_recalls(OWNER, ALL, BEFORE_EDIT),
    "refresh frequencies": lambda rig: Statistics(rig.store.pool, Limits()).refresh(OWNER),
    "analyze again": analyze_again,
    "read again": read_again,
    "save neighbours": save_near,
    "keep an answer": keep_answer,
    "merge and split": merge_and_split,
    "become sensitive": become_sensitive,
    "erase": lambda rig: rig.store.erase(OWNER, UUID(int=4)),
    "erase owner": lambda rig: rig.store.light_eraser.erase_owner(OWNER),
}


def conditions(interceptor: Interceptor) -> list[tuple[str, int | None]]:
    """Return each condition of each statement that was seen, and all conditions of each."""
    found: list[tuple[str, int | None]] = []
    for text in dict.fromkeys(interceptor.seen):
        count = len(CONDITION.findall(text))
        found += [(text, number) for number in range(count)]
        found += [(text, None)] if count > 1 else []
    interceptor.seen.clear()
    return found


async def test_reads_without_an_owner_condition_answer_the_same(rig: Rig) -> None:
    others = rig.of_other()
    for name, call in READS.items():
        with intercepted() as interceptor:
            expected = await call(rig)
            removed = conditions(interceptor)
            assert removed or name == "answers", f"{name} has no owner condition"
            for change in removed:
                interceptor.change = change
                assert repr(await call(rig)) == repr(expected), (name, change)
    assert SECRET in str(others)
    assert rig.of_other() == others


async def test_writes_without_an_owner_condition_change_nothing_of_others(rig: Rig) -> None:
    others = rig.of_other()
    for name, call in [*WRITES.items()][:: 1 if EFFORT >= 1 else 3]:
        with intercepted() as interceptor:
            done: set[tuple[str, int | None]] = set()
            with suppress(RecollectError):
                await call(rig)
            left = conditions(interceptor)
            assert left or name == "add", f"{name} has no owner condition"
            while left:
                interceptor.change = change = left.pop()
                done.add(change)
                with suppress(RecollectError):
                    assert SECRET not in repr(await call(rig)), (name, change)
                # A changed memory is written by other statements: these come next.
                left += [more for more in conditions(interceptor) if more not in {*done, *left}]
                assert rig.of_other() == others, (name, change)


async def test_every_statement_with_an_owner_condition_is_tried(rig: Rig) -> None:
    with intercepted() as interceptor:
        for call in (*READS.values(), *WRITES.values()):
            with suppress(RecollectError):
                await call(rig)
    seen = [" ".join(text.split()) for text in interceptor.seen]
    missed = [
        piece
        for piece in owner_conditions()
        if not any(piece in text for text in seen) and not piece.startswith(FOR_EVERYONE)
    ]
    assert not missed, "\n".join(missed)


def owner_conditions() -> list[str]:
    """Return the SQL fragments in the adapter that compare a row's owner with a parameter."""
    pieces: list[str] = []
    for file in Path(postgres.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                parts = re.split(r"\{\w*\}", node.value)
                found = [" ".join(part.split()) for part in parts]
                pieces += [part for part in found if re.search(r"\bowner = %", part)]
    return pieces


def test_every_table_is_secured_or_listed(database_url: str, cluster: Cluster) -> None:
    with psycopg.connect(admin_url(cluster, database_url)) as connection:
        tables = connection.execute(
            "select c.relname, c.relrowsecurity and c.relforcerowsecurity, exists ("
            "   select from pg_attribute a where a.attrelid = c.oid and a.attname = 'owner'),"
            " array(select policyname::text from pg_policies p where p.tablename = c.relname)"
            " from pg_class c where c.relnamespace = 'public'::regnamespace"
            " and c.relkind in ('r', 'p')"
        ).fetchall()
    for name, is_secured, has_owner, policies in tables:
        assert is_secured == has_owner == (name not in SHARED), name
        assert not is_secured or {"own_rows"} <= set(policies), name
    assert {name for name, *_ in tables} >= SHARED.keys()


async def test_no_role_can_bypass_the_policies(database_url: str, cluster: Cluster) -> None:
    async with PostgresStore(database_url) as store:
        roles = store.barrier.roles
        assert roles is not None, store.barrier.note
    with psycopg.connect(admin_url(cluster, database_url)) as connection:
        found = connection.execute(
            "select rolname, rolsuper or rolbypassrls or rolcanlogin or rolcreaterole,"
            " pg_has_role(rolname, pg_get_userbyid(c.relowner), 'member')"
            " from pg_roles, pg_class c where rolname = any(%s) and c.relname = 'memories'",
            ([roles.app, roles.worker],),
        ).fetchall()
        assert sorted(found) == [(roles.app, False, False), (roles.worker, False, False)]
        is_member = connection.execute(
            "select pg_has_role(%s, %s, 'member')", (roles.app, roles.worker)
        )
        assert is_member.fetchone() == (False,)


async def test_a_superuser_login_is_restricted(database_url: str, cluster: Cluster) -> None:
    async with PostgresStore(admin_url(cluster, database_url)) as store:
        await store.add_many([memory(1), memory(1, SECRET, owner=OTHER)])
        async with store.pool.transaction(OWNER) as connection:
            assert await contents(connection) == [memory(1).content]


async def test_no_owner_is_left_for_the_next_transaction(database_url: str) -> None:
    async with PostgresStore(database_url, connections=1) as store:
        await store.add_many([memory(1), memory(1, SECRET, owner=OTHER)])
        assert store.pool.idle == 1
        async with store.pool.dedicated() as connection, connection.transaction():
            await connection.execute("select set_config('role', 'recollect_app', true)")
            assert await contents(connection) == [], "without an owner there are no rows"
        assert await store.get(OTHER, UUID(int=1)) is not None
        with suppress(ZeroDivisionError):
            async with store.pool.transaction(OTHER):
                raise ZeroDivisionError
        async with store.pool.reading(OWNER) as reading:
            state = "select current_user, current_setting('recollect.owner', true) as owner"
            row = await (await reading.connection.execute(state)).fetchone()
            assert row == {"current_user": "recollect", "owner": ""}
            found = await (await reading.execute("select content from memories")).fetchall()
        assert found == [{"content": memory(1).content}]
        async with store.pool.transaction(WORKER) as connection:
            assert len(await contents(connection)) == 2
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute("delete from memories")


async def test_the_app_role_has_no_keys(database_url: str) -> None:
    async with PostgresStore(database_url) as store:
        with pytest.raises(RecollectError, match="permission"):
            async with store.pool.transaction(OWNER) as connection:
                await connection.execute("select digest from keys")


async def test_a_login_without_roles_runs_under_the_policies(
    cluster: Cluster,
) -> None:
    """It may neither create roles nor become one: the policies hold for the login itself."""
    login, name = cluster.name("plain_login"), "plain_login_database"
    with psycopg.connect(cluster.admin_url, autocommit=True) as admin:
        admin.execute(f"create role {login} login password 'plain'")
        admin.execute(f"create database {cluster.name(name)} template recollect owner {login}")
    url = psycopg.conninfo.make_conninfo(cluster.url_of(name), user=login, password="plain")
    try:
        async with PostgresStore(url) as store:
            assert store.barrier.roles is None
            assert f'create role "{login}_app"' in store.barrier.note
            await store.add_many([memory(1), memory(1, SECRET, owner=OTHER)])
            assert [row.content for row in await store.page(OWNER, EVERYWHERE, None, 9)] == [
                memory(1).content
            ]
            async with store.pool.transaction(OWNER) as connection:
                assert await contents(connection) == [memory(1).content]
            async with store.pool.transaction(ADMIN) as connection:
                assert len(await contents(connection)) == 2
        with psycopg.connect(cluster.admin_url, autocommit=True) as admin:
            statements = re.search(r"`(.*)`", store.barrier.note)
            assert statements is not None
            for statement in statements[1].split(";"):
                admin.execute(statement)
        async with PostgresStore(url) as store:
            assert store.barrier.roles is not None
            assert store.barrier.note == ""
            async with store.pool.transaction(OWNER) as connection:
                assert await contents(connection) == [memory(1).content]
    finally:
        cluster.drop(name)
        with psycopg.connect(cluster.admin_url, autocommit=True) as admin:
            for role in (f"{login}_app", f"{login}_worker", login):
                admin.execute(f"drop role if exists {role}")


async def contents(connection: AsyncConnection[Any]) -> list[str]:
    cursor = await connection.execute("select content from memories order by content")
    return [row["content"] for row in await cursor.fetchall()]
