"""The rules of the concept graph, which both triggers and the store apply.

SQLite has no SQL functions, so each rule is a statement with placeholders for its values.
"""

from __future__ import annotations

from typing import Final

from recollect.adapters.sqlite.schema.script import read_statements

UNDATED: Final = -(2**62)
"""`said_from` of a statement without a date: it is part of a key, in which NULL equals nothing."""

_NOW: Final = "CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER)"

GROW: Final = """
INSERT INTO graph_versions (owner, version) VALUES ({owner}, 1)
ON CONFLICT (owner) DO UPDATE SET version = version + 1
"""
"""Increment the version of an owner's graph."""

WEIGH: Final = """
UPDATE concept_edges SET held = e.held, learned_at = e.learned, valid_from = e.start,
    stated_until = e.until, known_until = CASE e.held WHEN 0 THEN e.withdrawn END,
    valid_to = CASE WHEN is_single THEN coalesce(min(valid_to, e.until), valid_to, e.until)
        ELSE e.until END
FROM (
    SELECT count(DISTINCT CASE WHEN s.withdrawn_at IS NULL THEN s.memory END) AS held,
        max(s.withdrawn_at) AS withdrawn, min(s.starts_at) AS start,
        (SELECT min(a.stated_at) FROM edge_evidence a
            WHERE a.owner = {owner} AND a.edge_id = {edge}) AS learned,
        CASE WHEN max(CASE WHEN s.said_until IS NULL THEN s.starts_at END) >= max(s.said_until)
            THEN NULL ELSE max(s.said_until) END AS until
    FROM edge_evidence s
    WHERE s.owner = {owner} AND s.edge_id = {edge} AND (s.withdrawn_at IS NULL OR NOT EXISTS (
        SELECT 1 FROM edge_evidence h
        WHERE h.owner = {owner} AND h.edge_id = {edge} AND h.withdrawn_at IS NULL))
    GROUP BY s.edge_id
) e
WHERE owner = {owner} AND id = {edge}
"""
"""After evidence was added or removed: an edge whose texts were all changed is no longer valid. Its
dates are those of its current statements, or else of its former ones: from the first start to the
last end that a text names, unless a statement begins again after that.
"""

UNSAID: Final = """
    owner = {owner} AND id = {edge} AND NOT EXISTS (
        SELECT 1 FROM edge_evidence e WHERE e.owner = {owner} AND e.edge_id = {edge})
"""
"""The condition that an edge has no evidence at all: it is then deleted."""

SETTLE: Final = """
UPDATE concept_edges SET valid_to = coalesce(min(stated_until, p.next), stated_until, p.next)
FROM (
    SELECT c.id AS settled, lead(c.valid_from) OVER (
        ORDER BY c.valid_from, c.learned_at, t.key, c.id) AS next
    FROM concept_edges c JOIN concepts t ON t.owner = c.owner AND t.id = c.target
    WHERE c.owner = {owner} AND c.source = {source} AND c.relation = {relation}
        AND c.is_single AND c.known_until IS NULL AND c.source <> c.target
) p
WHERE owner = {owner} AND id = p.settled
"""
"""In a single-valued relation each edge ends where the next begins. An edge from a concept to
itself, left by a merge of two names, states nothing and ends nothing.
"""

_UNUSED: Final = """
    NOT EXISTS (SELECT 1 FROM memory_concepts m
        WHERE m.owner = concept_names.owner AND m.key = concept_names.key)
    AND NOT EXISTS (SELECT 1 FROM edge_evidence e
        WHERE e.owner = concept_names.owner AND e.source_key = concept_names.key)
    AND NOT EXISTS (SELECT 1 FROM edge_evidence e
        WHERE e.owner = concept_names.owner AND e.target_key = concept_names.key)
"""
TIDY: Final = f"""
DELETE FROM concept_names WHERE owner = {{owner}} AND key = {{key}} AND NOT is_mended AND {_UNUSED}
"""  # noqa: S608  # composed of constants
"""A name that no text uses any more is deleted, unless it was edited by hand."""

# The text that such a name came from is no longer known: an erasure deletes all unused ones.
_TIDY_MENDED: Final = f"""
DELETE FROM concept_names WHERE owner = old.owner AND is_mended AND {_UNUSED}
"""  # noqa: S608  # composed of constants
# Nothing remains of a memory that is erased or becomes sensitive.
_LEAVE: Final = f"""
    DELETE FROM extractions WHERE owner = old.owner AND memory = old.number;
    DELETE FROM edge_evidence WHERE owner = old.owner AND memory = old.number;
    DELETE FROM memory_concepts WHERE owner = old.owner AND memory = old.number;
    {_TIDY_MENDED};
"""  # noqa: S608  # composed of constants
_IS_ANOTHER: Final = """
    (old.content <> new.content OR old.tags <> new.tags OR old.is_sensitive <> new.is_sensitive
        OR old.expanded_keywords <> new.expanded_keywords
        OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL))
"""

_OF_OLD: Final = {"owner": "old.owner", "edge": "old.edge_id"}
_FIND_EDGE: Final = "(SELECT {} FROM concept_edges WHERE owner = old.owner AND id = old.edge_id)"


def read_graph() -> tuple[str, ...]:
    return read_statements(
        "graph.sql",
        undated=str(UNDATED),
        now=_NOW,
        is_another=_IS_ANOTHER,
        leave=_LEAVE,
        grow=GROW.format(owner="old.owner"),
        weigh=WEIGH.format(**_OF_OLD),
        unsaid=UNSAID.format(**_OF_OLD),
        settle=SETTLE.format(
            owner="old.owner",
            source=_FIND_EDGE.format("source"),
            relation=_FIND_EDGE.format("relation"),
        ),
        tidy_key=TIDY.format(owner="old.owner", key="old.key"),
        tidy_source=TIDY.format(owner="old.owner", key="old.source_key"),
        tidy_target=TIDY.format(owner="old.owner", key="old.target_key"),
    )
