"""Write stated relationships to the local graph: each statement as evidence, with its own dates, on
the edge it belongs to. An edge's dates are computed from its evidence, so they depend neither on
the order of reading nor on erased evidence.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID, uuid4

from recollect.adapters.sql.graph.regroup import regroup
from recollect.adapters.sqlite.graph.rules import RULES
from recollect.adapters.sqlite.rows import microseconds
from recollect.adapters.sqlite.schema.graph import UNDATED
from recollect.adapters.sqlite.session import SqliteSession
from recollect.core.graph.extraction import is_single_valued
from recollect.core.graph.periods import Group, StatedFact, merge_repeated
from recollect.usecases.coroutines import run_directly

_CONCEPT_OF: Final = "SELECT concept_id FROM concept_names WHERE owner = ? AND key = ?"
_FIND_EDGE: Final = """
SELECT id FROM concept_edges
WHERE owner = :owner AND source = :source AND relation = :relation AND target = :target LIMIT 1
"""
_ADD_EDGE: Final = """
INSERT INTO concept_edges (owner, id, source, target, relation, is_single, valid_from, learned_at)
VALUES (:owner, :edge, :source, :target, :relation, :is_single, :stated_at, :stated_at)
"""
_ADD_EVIDENCE: Final = """
INSERT INTO edge_evidence (owner, edge_id, memory, source_key, target_key, said_from, said_until,
    stated_at)
VALUES (:owner, :edge, :memory, :source_key, :target_key, :said_from, :said_until, :stated_at)
ON CONFLICT (owner, edge_id, memory, source_key, target_key, said_from)
    DO UPDATE SET withdrawn_at = NULL, said_until = excluded.said_until
"""
# A single-valued relation: a withdrawn statement that is repeated is restored on its edge.
_RESTATE: Final = """
UPDATE edge_evidence SET withdrawn_at = NULL, said_until = :said_until
WHERE owner = :owner AND memory = :memory AND source_key = :source_key
    AND target_key = :target_key AND said_from = :said_from AND edge_id IN (
        SELECT id FROM concept_edges WHERE owner = :owner AND relation = :relation AND is_single)
"""
_SAID_BY: Final = """
SELECT e.edge_id, e.source_key, c.relation, e.target_key, e.said_from
FROM edge_evidence e JOIN concept_edges c ON c.owner = e.owner AND c.id = e.edge_id
WHERE e.owner = ? AND e.memory = ? AND e.withdrawn_at IS NULL
"""
_RETRACT: Final = """
DELETE FROM edge_evidence
WHERE owner = ? AND memory = ? AND edge_id = ? AND source_key = ? AND target_key = ?
    AND said_from = ?
"""


def write_facts(
    writer: sqlite3.Connection,
    owner: str,
    said: Iterable[StatedFact],
    numbers: Mapping[UUID, int],
) -> None:
    """Write the facts. `numbers`: the row numbers of the memories that state them."""
    touched: set[UUID] = set()
    groups: dict[Group, None] = {}
    for statement in merge_repeated(said):
        values = _values(writer, owner, statement, numbers[statement.memory])
        if values is None:
            continue
        if is_single_valued(statement.fact.relation):
            if not writer.execute(_RESTATE, values).rowcount:
                # An edge of its own, until `regroup` moves it where it belongs.
                _add_edge(writer, values)
                writer.execute(_ADD_EVIDENCE, values)
            groups[UUID(values["source"]), statement.fact.relation] = None
        else:
            found = writer.execute(_FIND_EDGE, values).fetchone()
            if found is None:
                _add_edge(writer, values)
            else:
                values["edge"] = found["id"]
            writer.execute(_ADD_EVIDENCE, values)
            touched.add(UUID(values["edge"]))
    session = SqliteSession(writer)
    run_directly(RULES.weigh(session, owner, touched))
    run_directly(regroup(session, RULES, owner, groups.keys()))


def retract(
    writer: sqlite3.Connection, owner: str, memory: int, said: Collection[StatedFact]
) -> None:
    """Remove facts that were read in this memory before and are no longer found in it."""
    kept = {
        (fact.source, fact.relation, fact.target, to_said_from(fact.valid_from))
        for fact in (statement.fact for statement in said)
    }
    for row in writer.execute(_SAID_BY, (owner, memory)).fetchall():
        edge, source, relation, target, said_from = row
        if (source, relation, target, said_from) not in kept:
            writer.execute(_RETRACT, (owner, memory, edge, source, target, said_from))


def to_said_from(valid_from: Any) -> int:  # noqa: ANN401  # a datetime or None
    return UNDATED if valid_from is None else microseconds(valid_from)


def _values(
    writer: sqlite3.Connection, owner: str, statement: StatedFact, memory: int
) -> dict[str, Any] | None:
    """Return the values of a statement; None if a name is no longer in the graph."""
    fact = statement.fact
    ends = [
        writer.execute(_CONCEPT_OF, (owner, key)).fetchone() for key in (fact.source, fact.target)
    ]
    if None in ends:
        return None
    return {
        "owner": owner,
        "memory": memory,
        "source": ends[0]["concept_id"],
        "target": ends[1]["concept_id"],
        "relation": fact.relation,
        "source_key": fact.source,
        "target_key": fact.target,
        "said_from": to_said_from(fact.valid_from),
        "said_until": None if fact.valid_to is None else microseconds(fact.valid_to),
        "stated_at": microseconds(statement.stated_at),
        "is_single": is_single_valued(fact.relation),
    }


def _add_edge(writer: sqlite3.Connection, values: dict[str, Any]) -> None:
    values["edge"] = str(uuid4())
    writer.execute(_ADD_EDGE, values)
