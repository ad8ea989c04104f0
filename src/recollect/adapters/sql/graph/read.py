"""Statements shared by viewing, editing and searching the graph."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final, LiteralString
from uuid import UUID

from recollect.adapters.sql.session import AS_OF, Row, Session
from recollect.core.graph.extraction import ExtractionJob
from recollect.core.graph.model import Concept
from recollect.core.graph.snapshot import FormerText

# Whether a relationship held at a moment: it was valid and not withdrawn before. The moment may be
# now; a statement from a clock that is ahead holds immediately. The dates of an edge are those of
# current statements; at that moment it may have held because of a text that was changed later.
HELD: Final[LiteralString] = f"""
    (c.valid_from <= coalesce({AS_OF}, :now) or ({AS_OF} is null and c.valid_from <= c.learned_at)
        or exists (select 1 from edge_evidence e where e.owner = :owner and e.edge_id = c.id
            and e.starts_at <= {AS_OF} and e.withdrawn_at > {AS_OF}))
    and (c.valid_to is null or c.valid_to > coalesce({AS_OF}, :now))
    and (c.known_until is null or c.known_until > {AS_OF})
"""  # noqa: S608  # composed of constants
# For a relationship c that held, the evidence e that stated it at that moment; for one that is
# shown although it is no longer stated, all the evidence it ever had.
_STATED_AT: Final[LiteralString] = f"""
    (e.withdrawn_at is null or e.withdrawn_at > {AS_OF} or c.known_until is not null)
"""
_EVIDENCE: Final[LiteralString] = f"""
select distinct e.edge_id, m.id as memory_id from edge_evidence e
join concept_edges c on c.owner = e.owner and c.id = e.edge_id
join memories m on m.owner = e.owner and m.$number = e.$memory
where e.owner = :owner and e.edge_id = any(:edges) and {_STATED_AT} order by m.id
"""  # noqa: S608  # composed of constants
_CONCEPTS: Final = """
select c.id, c.key, c.name, c.kind, (
    select count(distinct t.$memory) from memory_concepts t
    where t.owner = :owner and t.concept_id = c.id) as mentions
from concepts c where c.owner = :owner and c.id = any(:ids) order by c.id
"""
_NAMES: Final = """
select concept_id, key, name from concept_names
where owner = :owner and concept_id = any(:ids) order by key
"""
# Memories that existed then and were changed since, each with its state at that moment. A memory
# that is sensitive now, or was then, mentions nothing.
_CHANGED: Final = """
select m.id, v.content, v.tags, v.expanded_keywords,
    v.number is not null and v.deleted_at is null and not v.is_sensitive as is_known,
    m.deleted_at is null and v.content = m.content and v.tags = m.tags
        and v.expanded_keywords = m.expanded_keywords as is_same
from memories m left join memory_versions v
    on v.owner = m.owner and v.memory_id = m.id and v.number = (
        select max(w.number) from memory_versions w
        where w.owner = :owner and w.memory_id = m.id and w.known_from <= :as_of
            and w.known_until > :as_of and w.created_at <= :as_of)
where m.owner = :owner and m.created_at <= :as_of and m.updated_at > :as_of and not m.is_sensitive
order by m.updated_at desc, m.id
"""


async def read_concepts(session: Session, owner: str, ids: Collection[UUID]) -> list[Concept]:
    values = {"owner": owner, "ids": list(ids)}
    rows = await session.fetch(_CONCEPTS, values)
    names = await session.fetch(_NAMES, values)
    return [
        Concept(
            row["id"],
            row["key"],
            row["name"],
            row["kind"],
            tuple(
                name["name"]
                for name in names
                if name["concept_id"] == row["id"] and name["key"] != row["key"]
            ),
            row["mentions"],
        )
        for row in rows
    ]


async def read_evidence(
    session: Session, owner: str, edges: Collection[UUID], as_of: datetime | None
) -> dict[UUID, list[UUID]]:
    """Return the memories that state each relationship."""
    values = {"owner": owner, "edges": list(edges), "as_of": as_of}
    evidence: dict[UUID, list[UUID]] = {}
    for row in await session.fetch(_EVIDENCE, values):
        evidence.setdefault(row["edge_id"], []).append(row["memory_id"])
    return evidence


async def read_former_texts(session: Session, owner: str, as_of: datetime) -> list[FormerText]:
    """Return the former texts of memories at a moment. Mentions are only stored for current texts,
    so these texts are read again with the rules.
    """
    rows = await session.fetch(_CHANGED, {"owner": owner, "as_of": as_of})
    return [
        FormerText(row["id"], _to_job(row, owner) if row["is_known"] else None)
        for row in rows
        if not (row["is_known"] and row["is_same"])
    ]


def _to_job(row: Row, owner: str) -> ExtractionJob:
    return ExtractionJob(
        row["id"],
        owner,
        "",
        row["content"],
        tuple(row["tags"]),
        tuple(row["expanded_keywords"]),
    )
