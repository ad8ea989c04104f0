"""Write what was read in memories to the local graph, in one transaction per owner."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final
from uuid import UUID, uuid4

from recollect.adapters.sqlite.graph.facts import retract, write_facts
from recollect.adapters.sqlite.graph.rules import INCREMENT_VERSION
from recollect.adapters.sqlite.rows import moment
from recollect.core.graph.extraction import Extraction, ExtractionJob
from recollect.core.graph.periods import StatedFact

RARE: Final = -2
"""Marks a concept that is not worth comparing until one more memory mentions it."""

# An edit changes the time of a statement; other updates cannot be distinguished from an edit.
_PRESENT: Final = """
SELECT m.number, x.extracted_by, m.content, m.tags, m.expanded_keywords,
    CASE m.version WHEN 1 THEN m.created_at ELSE m.updated_at END AS stated_at
FROM memories m JOIN extractions x ON x.owner = m.owner AND x.memory = m.number
WHERE m.owner = ? AND m.id = ? AND x.extracted_by <= ? AND m.deleted_at IS NULL
"""
_IS_KNOWN: Final = "SELECT 1 FROM concept_names WHERE owner = ? AND key = ?"
_ADD_CONCEPT: Final = """
INSERT INTO concepts (owner, id, key, name, kind, created_at) VALUES (?, ?, ?, ?, ?, ?)
"""
_ADD_NAME: Final = "INSERT INTO concept_names (owner, key, concept_id, name) VALUES (?, ?, ?, ?)"
_ADD_MENTION: Final = """
INSERT OR IGNORE INTO memory_concepts (owner, memory, key, concept_id)
SELECT owner, ?, key, concept_id FROM concept_names WHERE owner = ? AND key = ?
"""
_COMPARE: Final = """
UPDATE concepts SET compared_in = NULL
WHERE owner = ?1 AND compared_in = ?3
    AND id = (SELECT concept_id FROM concept_names WHERE owner = ?1 AND key = ?2)
"""
_MENTIONED: Final = "SELECT key FROM memory_concepts WHERE owner = ? AND memory = ?"
_UNMENTION: Final = "DELETE FROM memory_concepts WHERE owner = ? AND memory = ? AND key = ?"
_DONE: Final = """
UPDATE extractions SET extracted_by = ?, attempts = 0, due_at = 0, last_error = NULL
WHERE owner = ? AND memory = ?
"""


def ticket_of(content: str, tags: Sequence[str], keywords: Sequence[str]) -> str:
    """Hash what is read for the graph: another text, tag or keyword is another extraction."""
    text = "\x1f".join((content, " ".join(tags), " ".join(keywords)))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write_extractions(
    writer: sqlite3.Connection,
    owner: str,
    done: Iterable[tuple[ExtractionJob, Extraction]],
    by: int,
    now: int,
) -> int:
    """Write what was read in an owner's memories if their text is unchanged. Returns how many."""
    rows: dict[UUID, sqlite3.Row] = {}
    read: dict[UUID, Extraction] = {}
    for job, found in done:
        row = writer.execute(_PRESENT, (owner, str(job.memory_id), by)).fetchone()
        if row is not None and _ticket_of_row(row) == job.ticket:
            rows[job.memory_id], read[job.memory_id] = row, found
    if not read:
        return 0
    numbers = {memory: row["number"] for memory, row in rows.items()}
    _write_mentions(writer, owner, read, numbers, now)
    said = {
        memory: [StatedFact(memory, fact, moment(rows[memory]["stated_at"])) for fact in one.facts]
        for memory, one in read.items()
    }
    for memory, found in read.items():
        if rows[memory]["extracted_by"] > 0:
            retract(writer, owner, numbers[memory], said[memory])
            _unmention(writer, owner, numbers[memory], found)
    write_facts(writer, owner, [each for part in said.values() for each in part], numbers)
    writer.executemany(_DONE, ((by, owner, number) for number in numbers.values()))
    writer.execute(INCREMENT_VERSION, {"owner": owner})
    return len(read)


def _write_mentions(
    writer: sqlite3.Connection,
    owner: str,
    read: Mapping[UUID, Extraction],
    numbers: Mapping[UUID, int],
    now: int,
) -> None:
    mentioned = {mention.key: mention for found in read.values() for mention in found.mentions}
    for key in sorted(mentioned):
        if writer.execute(_IS_KNOWN, (owner, key)).fetchone() is None:
            id, mention = str(uuid4()), mentioned[key]
            row = (owner, id, key, mention.label, mention.kind, now)
            writer.execute(_ADD_CONCEPT, row)
            writer.execute(_ADD_NAME, (owner, key, id, mention.label))
    for memory, found in read.items():
        pairs = ((numbers[memory], owner, mention.key) for mention in found.mentions)
        writer.executemany(_ADD_MENTION, pairs)
    writer.executemany(_COMPARE, ((owner, key, RARE) for key in mentioned))


def _unmention(writer: sqlite3.Connection, owner: str, memory: int, found: Extraction) -> None:
    """Remove mentions that were read in this memory before and are no longer found in it."""
    kept = {mention.key for mention in found.mentions}
    before = [row["key"] for row in writer.execute(_MENTIONED, (owner, memory))]
    gone = ((owner, memory, key) for key in before if key not in kept)
    writer.executemany(_UNMENTION, gone)


def _ticket_of_row(row: sqlite3.Row) -> str:
    tags, keywords = json.loads(row["tags"]), json.loads(row["expanded_keywords"])
    return ticket_of(row["content"], tags, keywords)
