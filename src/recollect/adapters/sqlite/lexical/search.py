"""The lexical leg on SQLite: FTS5 and `bm25()`, every word first, then any word.

Memories that hold every word are asked for first; they keep their place in the answer whatever
else is found. When they do not fill it, memories that hold any word are added, and all stand in
the order of `bm25()`. Putting the every-word part in front as a block was measured and is not
better (R@10 in percent, block in front / this order: LoCoMo 61.9 / 61.8, LongMemEval oracle turns
58.6 / 58.6, sessions 73.0 / 74.3, SciFact 81.6 / 81.6), and it would leave scores that
contradict the order, which fusion by scores cannot use.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.adapters.sqlite.rows import Parameters, id_list, inside, moment
from recollect.core.recall.relevance import word_evidence
from recollect.core.text.analysis import clean_query, fts5_match, query_words

if TYPE_CHECKING:
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.request import Candidate
    from recollect.core.recall.settings import WordQuery

# Content, expanded keywords, tags, category: the weights that Postgres gives its classes A to D.
FIELD_WEIGHTS: Final = (1.0, 0.4, 0.2, 0.1)
# bm25() is negative, better is less; a leg's scores grow with the match, from 0.
_SCORE: Final = f"-bm25(memory_words, {', '.join(map(str, FIELD_WEIGHTS))})"
# A scan compares every text with every pattern: a few short ones are enough for a last resort.
_MAX_PATTERNS: Final = 8
_MAX_PATTERN_CHARS: Final = 200


def search(
    connection: sqlite3.Connection, owner: str, scope: Scope, query: WordQuery
) -> list[Candidate]:
    condition, parameters = inside(owner, scope)
    if query.exclude:
        condition += " AND m.id NOT IN (SELECT value FROM json_each(:exclude))"
        parameters["exclude"] = id_list(query.exclude)
    parameters["depth"] = query.depth
    every = query_words(query.text)
    any_of = tuple(dict.fromkeys((*every, *query_words(query.expanded))))
    if not any_of:
        return _scan(connection, condition, parameters, (clean_query(query.text),))
    try:
        found = _match(connection, condition, parameters, every, any_of)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        # The match itself could not be made, for instance because the index is missing.
        return _scan(connection, condition, parameters, any_of)
    evidence = word_evidence(query.text, query.expanded)
    return [candidate._replace(evidence=evidence(text)) for candidate, text in found]


def _match(
    connection: sqlite3.Connection,
    condition: str,
    parameters: Parameters,
    every: tuple[str, ...],
    any_of: tuple[str, ...],
) -> list[tuple[Candidate, str]]:
    """The best candidates with the texts that they were found by."""
    statement = f"""
        SELECT m.id, {_SCORE} AS score, m.importance, m.created_at,
            m.content || ' ' || m.expanded_keywords || ' ' || m.tags || ' ' || m.category
        FROM memory_words JOIN memories m ON m.number = memory_words.rowid
        WHERE memory_words MATCH :match AND {condition}
        ORDER BY score DESC, m.id LIMIT :depth
    """  # noqa: S608  # built from constants; every value is a parameter

    def matching(expression: str) -> list[tuple[Candidate, str]]:
        rows = connection.execute(statement, {**parameters, "match": expression}).fetchall()
        return list(zip(_candidates(rows), (row[4] for row in rows), strict=True))

    depth: int = parameters["depth"]
    full = matching(fts5_match(every, "AND")) if every else []
    if len(full) >= depth or len(any_of) == 1:
        return full or matching(fts5_match(any_of, "OR"))
    wide = matching(fts5_match(any_of, "OR"))
    kept = {candidate.id: (candidate, text) for candidate, text in full}
    for candidate, text in wide:
        if candidate.id in kept or len(kept) < depth:
            kept[candidate.id] = (candidate, text)
    return sorted(kept.values(), key=lambda found: (-found[0].score, found[0].id))


def _scan(
    connection: sqlite3.Connection,
    condition: str,
    parameters: Parameters,
    texts: tuple[str, ...],
) -> list[Candidate]:
    """Memories whose content holds one of the texts as it is written; equal among each other."""
    patterns = {
        f"pattern{number}": f"%{_escaped(text[:_MAX_PATTERN_CHARS])}%"
        for number, text in enumerate(texts[:_MAX_PATTERNS])
        if text
    }
    if not patterns:
        return []
    likes = " OR ".join(f"m.content LIKE :{name} ESCAPE '!'" for name in patterns)
    statement = f"""
        SELECT m.id, 1.0, m.importance, m.created_at FROM memories m
        WHERE {condition} AND ({likes}) ORDER BY m.id LIMIT :depth
    """  # noqa: S608  # built from constants; every value is a parameter
    return _candidates(connection.execute(statement, {**parameters, **patterns}).fetchall())


def _escaped(text: str) -> str:
    for special in "!%_":
        text = text.replace(special, "!" + special)
    return text


def _candidates(rows: Sequence[sqlite3.Row]) -> list[Candidate]:
    from recollect.core.recall.request import Candidate

    return [Candidate(UUID(row[0]), row[1], row[2], moment(row[3])) for row in rows]
