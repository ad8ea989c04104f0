"""Move statements of single-valued relations to the edges of their periods, and define what each
database must do itself when the graph changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, Protocol
from uuid import UUID

from recollect.adapters.sql.session import Row, Session
from recollect.core.graph.periods import Group, Statement, assign_edges

_STATEMENTS: Final = """
select w.source, w.relation, t.concept_id as target, k.key, e.edge_id, e.$memory as memory,
    m.id as memory_id, e.source_key, e.target_key, nullif(e.said_from, $undated) as said_from,
    e.said_until, e.starts_at, e.stated_at,
    c.source = w.source and c.target = t.concept_id as is_home
from $groups
join concept_names s on s.owner = :owner and s.concept_id = w.source
join edge_evidence e on e.owner = s.owner and e.source_key = s.key and e.withdrawn_at is null
join concept_edges c
    on c.owner = e.owner and c.id = e.edge_id and c.is_single and c.relation = w.relation
join concept_names t on t.owner = e.owner and t.key = e.target_key
join concepts k on k.owner = t.owner and k.id = t.concept_id
join memories m on m.owner = e.owner and m.$number = e.$memory
order by w.source, w.relation
"""
_ADD_EDGE: Final = """
insert into concept_edges (owner, id, source, target, relation, is_single, valid_from, learned_at)
values (:owner, :edge, :source, :target, :relation, true, :starts_at, :stated_at)
"""
MOVE_EVIDENCE: Final = """
update edge_evidence set edge_id = :edge
where owner = :owner and edge_id = :edge_id and $memory = :memory and source_key = :source_key
    and target_key = :target_key
    and said_from = coalesce(cast(:said_from as timestamptz), $undated)
"""


class GraphRules(Protocol):
    """The rules after a change of the graph: on Postgres, functions that triggers call as well."""

    async def lock(self, session: Session, owner: str) -> None:
        """Lock the owner's graph for other writers until the transaction ends."""

    async def increment_version(self, session: Session, owner: str) -> None: ...

    async def weigh(self, session: Session, owner: str, edges: Collection[UUID]) -> None:
        """Update edges after evidence was added or removed: delete those without any, and recompute
        the dates of the others.
        """

    async def settle(self, session: Session, owner: str, groups: Collection[Group]) -> None:
        """End each edge of a single-valued relation where the next one begins."""


async def regroup(
    session: Session, rules: GraphRules, owner: str, groups: Collection[Group]
) -> None:
    """Move every statement of these single-valued relations to the edge of its period."""
    values = {
        "owner": owner,
        "sources": [source for source, _ in groups],
        "relations": [relation for _, relation in groups],
    }
    rows = await session.fetch(_STATEMENTS, values)
    touched = {row["edge_id"] for row in rows}
    for _, group in groupby(rows, key=itemgetter("source", "relation")):
        for row, edge in _assign_edges(list(group)):
            if edge == row["edge_id"]:
                continue
            moved = {**row, "owner": owner, "edge": edge}
            if edge not in touched:
                await session.execute(_ADD_EDGE, moved)
                touched.add(edge)
            await session.execute(MOVE_EVIDENCE, moved)
    await rules.weigh(session, owner, touched)
    # Only now: statements that have left a group end nothing in it.
    await rules.settle(session, owner, groups)


def _assign_edges(rows: Sequence[Row]) -> list[tuple[Row, UUID]]:
    """Return the rows of one group, each with its edge."""
    by_statement = {_to_statement(row): row for row in rows}
    assigned = assign_edges(rows[0]["source"], list(by_statement))
    return [(by_statement[statement], edge) for statement, edge in assigned]


def _to_statement(row: Row) -> Statement:
    names = (row["key"], row["target_key"], row["source_key"], str(row["memory_id"]))
    return Statement(
        target=row["target"],
        start=row["starts_at"],
        end=row["said_until"],
        said_at=row["stated_at"],
        said_by=(*names, str(row["said_from"])),
        edge=row["edge_id"] if row["is_home"] else None,
    )
