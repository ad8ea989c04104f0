"""Merging two concepts and splitting one, by hand or because two names are nearly the same.

A decision by hand marks the names it moved: such a name is only ever moved by hand again, and it
outlives the edits that take it out of memories, so that the decision holds when it comes back; it
does not outlive an erasure. Edges follow their evidence, which knows the names that each memory
used.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import Final
from uuid import UUID, uuid4

from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.graph.facts import regroup, weigh
from recollect.adapters.sqlite.graph.read import read_concepts
from recollect.adapters.sqlite.graph.write import INCREMENT_VERSION
from recollect.adapters.sqlite.rows import id_list
from recollect.adapters.sqlite.thread import transaction

_IS_MENDED: Final = """
SELECT 1 FROM concept_names WHERE owner = :owner AND concept_id = :gone AND is_mended LIMIT 1
"""
_MOVE_NAMES: Final = """
UPDATE concept_names SET concept_id = :into, is_mended = is_mended OR :by_hand
WHERE owner = :owner AND concept_id = :gone
"""
_MARK: Final = "UPDATE concept_names SET is_mended = 1 WHERE owner = ? AND key = ?"
_MARK_ALL: Final = """
UPDATE concept_names SET is_mended = 1 WHERE owner = :owner AND concept_id = :from
"""
_MOVE_MENTIONS: Final = """
UPDATE memory_concepts SET concept_id = :into WHERE owner = :owner AND concept_id = :gone
"""
_MOVE_NEAR: Final = """
INSERT OR IGNORE INTO near_concepts (owner, source, target, similarity)
SELECT :owner, min(:into, other), max(:into, other), max(similarity) FROM (
    SELECT CASE source WHEN :gone THEN target ELSE source END AS other, similarity
    FROM near_concepts WHERE owner = :owner AND :gone IN (source, target)
) WHERE other <> :into GROUP BY other
"""
_REMOVE: Final = "DELETE FROM concepts WHERE owner = :owner AND id = :gone"

_SPLIT_OFF: Final = """
INSERT INTO concepts (owner, id, key, name, kind, compared_in, created_at)
SELECT owner, :id, :key, :name, kind, 0, :now FROM concepts WHERE owner = :owner AND id = :from
"""
_GIVE_NAME: Final = """
UPDATE concept_names SET concept_id = :id, is_mended = 1 WHERE owner = :owner AND key = :key
"""
_GIVE_MENTIONS: Final = """
UPDATE memory_concepts SET concept_id = :id WHERE owner = :owner AND key = :key
"""
_RENAME_AWAY: Final = """
UPDATE concepts SET key = n.key, name = n.name FROM (
    SELECT key, name FROM concept_names
    WHERE owner = :owner AND concept_id = :from AND key <> :key ORDER BY key LIMIT 1
) n WHERE concepts.owner = :owner AND concepts.id = :from AND concepts.key = :key
"""

# Evidence whose names belong to other concepts than those its edge links moves to the edge that
# links them; a missing edge is created. What is said of a single-valued relation, and not
# withdrawn, is moved by `regroup`.
_MISPLACED_EVIDENCE: Final = """
SELECT e.owner, e.edge_id AS was, e.memory, e.source_key, e.target_key, e.said_from,
    s.concept_id AS source, t.concept_id AS target, c.relation, c.is_single,
    c.is_single AND e.withdrawn_at IS NULL AS is_grouped
FROM edge_evidence e
JOIN concept_edges c ON c.owner = e.owner AND c.id = e.edge_id
JOIN concept_names s ON s.owner = e.owner AND s.key = e.source_key
JOIN concept_names t ON t.owner = e.owner AND t.key = e.target_key
JOIN memories m ON m.number = e.memory
WHERE c.owner = :owner AND (c.source IN (SELECT value FROM json_each(:ids))
        OR c.target IN (SELECT value FROM json_each(:ids)))
    AND (c.source, c.target) <> (s.concept_id, t.concept_id)
ORDER BY c.valid_from, m.id
"""
_FIND_EDGE: Final = """
SELECT n.id FROM concept_edges n
JOIN concept_edges c ON c.owner = n.owner AND c.id = :was
WHERE n.owner = :owner AND n.source = :source AND n.target = :target
    AND n.relation = c.relation
    AND (NOT c.is_single OR n.valid_from = c.valid_from AND n.known_until IS NOT NULL)
LIMIT 1
"""
_MAKE_EDGE: Final = """
INSERT INTO concept_edges (owner, id, source, target, relation, is_single, valid_from, valid_to,
    stated_until, learned_at, known_until)
SELECT owner, :edge, :source, :target, relation, is_single, valid_from, valid_to, stated_until,
    learned_at, known_until
FROM concept_edges WHERE owner = :owner AND id = :was
"""
_MOVE: Final = """
UPDATE edge_evidence SET edge_id = :edge
WHERE owner = :owner AND edge_id = :was AND memory = :memory AND source_key = :source_key
    AND target_key = :target_key AND said_from = :said_from
"""
# The relations of a concept that changed: their periods must be computed again.
_SINGLE: Final = """
SELECT DISTINCT source, relation FROM concept_edges
WHERE is_single AND owner = :owner AND (source IN (SELECT value FROM json_each(:ids))
    OR target IN (SELECT value FROM json_each(:ids)))
"""


class GraphEditor(SqliteComponent):
    """Implements what the `GraphView` port edits."""

    async def merge(self, owner: str, into: UUID, gone: UUID, *, by_hand: bool) -> bool:
        """Merge two concepts: the names of `gone` become names of `into`. False when one of them no
        longer exists, or when `gone` was edited by hand and this is not by hand.
        """
        values = {"owner": owner, "into": str(into), "gone": str(gone), "by_hand": by_hand}

        def work(writer: sqlite3.Connection) -> bool:
            with transaction(writer):
                both = read_concepts(writer, owner, {into, gone})
                if len(both) != 2:
                    return False
                if by_hand:
                    writer.executemany(_MARK, ((owner, concept.key) for concept in both))
                elif writer.execute(_IS_MENDED, values).fetchone() is not None:
                    return False
                for statement in (_MOVE_NAMES, _MOVE_MENTIONS, _MOVE_NEAR):
                    writer.execute(statement, values)
                _reattach(writer, owner, [into, gone])
                writer.execute(_REMOVE, values)
                writer.execute(INCREMENT_VERSION, (owner,))
                return True

        return await self._writer.run(work)

    async def split(self, owner: str, concept: UUID, key: str, name: str) -> UUID:
        """Make one of a concept's names a concept of its own, by hand. Returns its id."""
        id = uuid4()
        values = {
            "owner": owner,
            "id": str(id),
            "key": key,
            "name": name,
            "from": str(concept),
            "now": self._now(),
        }
        # It may be the concept's main name, and a key belongs to one concept.
        steps = (_MARK_ALL, _RENAME_AWAY, _SPLIT_OFF, _GIVE_NAME, _GIVE_MENTIONS)

        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                for statement in steps:
                    writer.execute(statement, values)
                _reattach(writer, owner, [concept])
                writer.execute(INCREMENT_VERSION, (owner,))

        await self._writer.run(work)
        return id


def _reattach(writer: sqlite3.Connection, owner: str, ids: Collection[UUID]) -> None:
    values = {"owner": owner, "ids": id_list(ids)}
    astray = writer.execute(_MISPLACED_EVIDENCE, values).fetchall()
    edges: set[str] = set()
    for row in astray:
        edges.add(row["was"])
        if not row["is_grouped"]:
            found = writer.execute(_FIND_EDGE, dict(row)).fetchone()
            edge = str(uuid4()) if found is None else found["id"]
            if found is None:
                writer.execute(_MAKE_EDGE, {**dict(row), "edge": edge})
            writer.execute(_MOVE, {**dict(row), "edge": edge})
            edges.add(edge)
    groups = {(UUID(row["source"]), row["relation"]) for row in writer.execute(_SINGLE, values)}
    groups |= {(UUID(row["source"]), row["relation"]) for row in astray if row["is_single"]}
    regroup(writer, owner, groups)
    weigh(writer, owner, edges)
