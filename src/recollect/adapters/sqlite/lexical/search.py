"""The lexical leg on SQLite: FTS5 and `bm25()` over the terms of the analyzer.

A word of the query may be in the index in several forms (as written, without accents, as a stem).
It counts by its best form, so each form is a separate search. Memories with every word are always
in the result, whatever else is found, and all are ordered by their scores. Putting the memories
with every word first was measured and is not better (R@10 in percent, those first / this order:
LoCoMo 61.9 / 61.8, LongMemEval oracle turns 58.6 / 58.6, sessions 73.0 / 74.3, SciFact 81.6 /
81.6), and the scores would then contradict the order, so that fusion by scores could not use them.

`bm25()` looks up the length of each memory it scores, so a word of most memories takes long.
Memories with such a word are therefore scored only if they also contain one of the rarer words. If
that gives fewer hits than requested, or a skipped memory could be among the first ten by its common
words, more words count as rare.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from math import log
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.adapters.sqlite.rows import Parameters, id_list, inside, moment
from recollect.core.recall.relevance import MIN_ROWS, idf, most_information
from recollect.core.text.terms import WEIGHTS, Forms, query_forms

if TYPE_CHECKING:
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.request import Candidate
    from recollect.core.recall.settings import WordQuery

# bm25() is negative, and lower is better; the scores of a leg start at 0, and higher is better.
_SCORE: Final = f"-bm25(memory_words, {', '.join(map(str, WEIGHTS))})"
_FORM: Final = f"""
SELECT rowid, {{place}}, {_SCORE} FROM memory_words WHERE memory_words MATCH :form{{number}}
"""  # noqa: S608  # built from constants
# The plus sign keeps FTS5 from searching once for each memory of the list.
_AMONG_RARE: Final = " AND +rowid IN (SELECT number FROM rare)"
_HOLDERS: Final = "SELECT count(*) FROM memory_words WHERE memory_words MATCH ?"
# Materialized: `bm25()` only works in the query with the match. Returns the positions of the words
# in each memory and, once, the number of memories.
_MATCH: Final = """
WITH rare (number, place, score) AS MATERIALIZED ({rare}),
forms (number, place, score) AS MATERIALIZED ({forms}),
words (number, place, score) AS MATERIALIZED (
    SELECT number, place, max(score) FROM forms GROUP BY number, place
)
SELECT m.id, sum(words.score) AS score, m.importance, m.created_at,
    json_group_array(words.place),
    (SELECT count(*) FROM memories WHERE deleted_at IS NULL)
FROM words JOIN memories m ON m.number = words.number
WHERE {condition}
GROUP BY words.number
ORDER BY sum(words.place < :every) = :every AND :every > 0 DESC, score DESC, m.id LIMIT :depth
"""
# One index lookup per language, however many memories it has.
_LANGUAGES: Final = """
WITH RECURSIVE spoken (languages) AS (
    SELECT min(languages) FROM memories WHERE owner = :owner AND deleted_at IS NULL
    UNION ALL
    SELECT (
        SELECT min(m.languages) FROM memories m
        WHERE m.owner = :owner AND m.deleted_at IS NULL AND m.languages > spoken.languages
    ) FROM spoken WHERE languages IS NOT NULL
)
SELECT languages FROM spoken WHERE languages IS NOT NULL
"""
# SQLite allows at most 500 terms in a compound select.
_MAX_FORMS: Final = 400
# The rarest words are scored wherever they occur: all words in at most this many memories together,
# and at least enough words for several times the requested hits.
_MAX_RARE: Final = 5_000
_RARE_PER_HIT: Final = 10
# The factor by which these limits grow if some of the first hits could be missing.
_MORE_RARE: Final = 5
# This many hits are guaranteed to be those of an exhaustive search.
_FIRST: Final = 10
# FTS5 multiplies a word's IDF by at most k1 + 1, however often a memory contains it.
_MAX_BM25_FACTOR: Final = 2.2
# A scan compares every text with every pattern: a few short patterns are enough as a last resort.
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
    spoken = languages(connection, owner)
    every = query_forms(query.text, spoken)
    any_of = list(dict.fromkeys((*every, *query_forms(query.expanded, spoken))))
    if not any_of:
        return _scan(connection, condition, parameters, (query.text,))
    try:
        asked = {**parameters, "every": len(every)}
        return _match(connection, condition, asked, any_of, is_exhaustive=query.is_exhaustive)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        # The match failed, for instance because the index is missing.
        return _scan(connection, condition, parameters, [forms[0] for forms in any_of])


def languages(connection: sqlite3.Connection, owner: str) -> frozenset[str]:
    """Return the languages of an owner's memories."""
    rows = connection.execute(_LANGUAGES, {"owner": owner})
    return frozenset(language for (each,) in rows for language in each.split())


def _match(
    connection: sqlite3.Connection,
    condition: str,
    parameters: Parameters,
    words: Sequence[Forms],
    *,
    is_exhaustive: bool,
) -> list[Candidate]:
    asked = [(place, form) for place, forms in enumerate(words) for form in forms][:_MAX_FORMS]
    places = {place for place, _ in asked}
    holders = [
        _count_holders(connection, forms) if place in places else 0
        for place, forms in enumerate(words)
    ]
    every, depth = parameters["every"], parameters["depth"]
    most = sum(holders) if is_exhaustive else _MAX_RARE
    while True:
        rare = _choose_rare(holders, every, _RARE_PER_HIT * depth, most)
        rows = _score(connection, condition, parameters, asked, rare)
        common = [words[place] for place in places - rare]
        if not common or _is_sure(connection, rows, common, depth):
            break
        most *= _MORE_RARE
    evidence = _evidence(rows, holders, every)
    found = [
        candidate._replace(evidence=share)
        for candidate, share in zip(_candidates(rows), evidence, strict=True)
    ]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.id))


def _score(
    connection: sqlite3.Connection,
    condition: str,
    parameters: Parameters,
    asked: Sequence[tuple[int, str]],
    rare: Collection[int],
) -> list[sqlite3.Row]:
    """Return the best memories of a scope with one of the words at the positions `rare`."""
    searches: tuple[list[str], list[str]] = [], []
    for number, (place, _) in enumerate(asked):
        search = _FORM.format(place=place, number=number)
        searches[0 if place in rare else 1].append(search)
    common = [search + _AMONG_RARE for search in searches[1]]
    statement = _MATCH.format(
        rare=" UNION ALL ".join(searches[0]),
        forms=" UNION ALL ".join(["SELECT * FROM rare", *common]),
        condition=condition,
    )
    matches = {f"form{number}": f'"{form}"' for number, (_, form) in enumerate(asked)}
    return connection.execute(statement, {**parameters, **matches}).fetchall()


def _count_holders(connection: sqlite3.Connection, forms: Forms) -> int:
    any_form = " OR ".join(f'"{form}"' for form in forms)
    (holders,) = connection.execute(_HOLDERS, (any_form,)).fetchone()
    return int(holders)


def _choose_rare(holders: Sequence[int], asked: int, enough: int, most: int) -> set[int]:
    """Choose the words, by position, whose memories are all scored. They include the rarest of the
    query's own words, so that no memory with every word is missed.
    """
    rarest_first = sorted(range(len(holders)), key=holders.__getitem__)
    found = set([place for place in rarest_first if place < asked][:1])
    total = sum(holders[place] for place in found)
    for place in rarest_first:
        if place in found:
            continue
        if total >= enough and total + holders[place] > most:
            break
        found.add(place)
        total += holders[place]
    return found


def _is_sure(
    connection: sqlite3.Connection, rows: Sequence[sqlite3.Row], common: Sequence[Forms], depth: int
) -> bool:
    """Return whether no memory with only common words could be one of the first hits, even with the
    highest score that `bm25()` can give for each of them.
    """
    if len(rows) < depth:
        return False
    stored = rows[0][5]
    highest = 0.0
    for forms in common:
        rarest = min(filter(None, (_count_holders(connection, (form,)) for form in forms)))
        highest += _MAX_BM25_FACTOR * max(log((stored - rarest + 0.5) / (rarest + 0.5)), 0.0)
    scores = sorted((row[1] for row in rows), reverse=True)
    return bool(scores[min(depth, _FIRST) - 1] >= highest)


def _evidence(rows: Sequence[sqlite3.Row], holders: Sequence[int], asked: int) -> list[float]:
    """Return how much of the query each memory contains: the information of its words, in any form,
    divided by that of the query's words. Words that only expand the query come after these.
    """
    if not rows:
        return []
    total = max(rows[0][5], MIN_ROWS)
    weights = [idf(total, min(max(each, 1), total)) for each in holders]
    ceiling = most_information(weights[:asked] or weights)
    return [min(sum(weights[place] for place in json.loads(row[4])) / ceiling, 1.0) for row in rows]


def _scan(
    connection: sqlite3.Connection,
    condition: str,
    parameters: Parameters,
    texts: Sequence[str],
) -> list[Candidate]:
    """Find memories that contain one of the texts literally; all with the same score."""
    patterns = {
        f"pattern{number}": f"%{_escape(text[:_MAX_PATTERN_CHARS])}%"
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


def _escape(text: str) -> str:
    for special in "!%_":
        text = text.replace(special, "!" + special)
    return text


def _candidates(rows: Sequence[sqlite3.Row]) -> list[Candidate]:
    from recollect.core.recall.request import Candidate

    return [Candidate(UUID(row[0]), row[1], row[2], moment(row[3])) for row in rows]
