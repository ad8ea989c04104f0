"""A file of ready-made facts, one JSON object per line: what another program has extracted from
memories.

A line is about one memory ({"memory", "entities", "triples"}) or one concept ({"concept",
"aliases", "kind", "memories"}). `doc`, `docs`, `entity` and `type` mean the same as `memory`,
`memories`, `concept` and `kind`, the names in published datasets. See docs/graph.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from recollect.core.graph.concepts import Mention
from recollect.core.graph.extraction import (
    MAX_FACTS,
    MAX_KEY,
    MAX_RELATION,
    Extraction,
    Fact,
    join_extraction,
    tidy_relation,
    to_mention,
)
from recollect.core.text.analysis import find_unstorable

MAX_LINE: Final = 5_000_000
_FIELDS: Final = frozenset(
    {"memory", "doc", "entities", "triples", "concept", "entity", "aliases", "kind", "type"}
    | {"memories", "docs", "scope"}
)


@dataclass(frozen=True, slots=True)
class LineError:
    """What is wrong with a line, for people."""

    line: int
    reason: str


@dataclass(slots=True)
class FileFacts:
    """What a file states: the mentions and facts of each memory, by the reference that the file
    uses, each fact with its line; which names are aliases; and the lines that could not be read.
    `lines` is where a memory first occurs.
    """

    mentions: dict[str, dict[str, Mention]] = field(default_factory=dict)
    facts: dict[str, dict[Fact, int]] = field(default_factory=dict)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    errors: list[LineError] = field(default_factory=list)
    read: int = 0

    def extraction(self, reference: str) -> Extraction:
        mentioned = tuple(self.mentions.get(reference, {}).values())
        return join_extraction(mentioned, tuple(self.facts.get(reference, ())))

    def left_out(self, reference: str, kept: Extraction) -> dict[LineError, int]:
        """Return the facts of a memory that are not among the `kept` ones: how many for each line
        and reason.
        """
        there, names = set(kept.facts), {mention.key for mention in kept.mentions}
        lost = Counter(
            (line, _explain_loss(fact, names))
            for fact, line in self.facts.get(reference, {}).items()
            if fact not in there
        )
        return {
            LineError(line, f"{_count_facts(count)} left out: {reason}"): count
            for (line, reason), count in lost.items()
        }


def read_file(lines: Iterable[str]) -> FileFacts:
    """Read all lines; a line that cannot be read is reported and left out."""
    found = FileFacts()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            _read_line(found, number, line)
            found.read += 1
        except ValueError as error:
            found.errors.append(LineError(number, str(error)))
    return found


def _read_line(found: FileFacts, number: int, line: str) -> None:
    if len(line) > MAX_LINE:
        raise ValueError(f"the line has more than {MAX_LINE:,} characters")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("it is not a JSON object") from None
    if not isinstance(fields, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004  # one type of error for lines
    if unknown := sorted(fields.keys() - _FIELDS):
        raise ValueError(f"unknown field {unknown[0][:40]!r}")
    if "memory" in fields or "doc" in fields:
        _read_memory(found, number, fields)
    elif "concept" in fields or "entity" in fields:
        _read_concept(found, number, fields)
    else:
        raise ValueError("it names neither a memory nor a concept")


def _read_memory(found: FileFacts, number: int, fields: Mapping[str, Any]) -> None:
    reference = _text(fields.get("memory", fields.get("doc")), "memory")
    entities = [_mention(name) for name in _check_list(fields.get("entities", []), "entities")]
    facts = [
        fact for entry in _check_list(fields.get("triples", []), "triples") for fact in _fact(entry)
    ]
    _add_mentions(
        found, number, reference, [*entities, *(name for _, names in facts for name in names)]
    )
    stated = found.facts.setdefault(reference, {})
    for fact, _ in facts:
        stated.setdefault(fact, number)


def _read_concept(found: FileFacts, number: int, fields: Mapping[str, Any]) -> None:
    concept = _mention(fields.get("concept", fields.get("entity")))
    names = [_mention(name) for name in _check_list(fields.get("aliases", []), "aliases")]
    others = [name for name in names if name.key != concept.key]
    references = [
        _text(entry, "memories")
        for entry in _check_list(fields.get("memories", fields.get("docs", [])), "memories")
    ]
    for reference in references:
        _add_mentions(found, number, reference, [concept, *others])
    if references:
        found.aliases.extend((concept.key, other.key) for other in others)


def _add_mentions(found: FileFacts, number: int, reference: str, names: Iterable[Mention]) -> None:
    found.lines.setdefault(reference, number)
    mentions = found.mentions.setdefault(reference, {})
    for mention in names:
        mentions.setdefault(mention.key, mention)


def _fact(entry: object) -> Iterator[tuple[Fact, tuple[Mention, Mention]]]:
    since = until = None
    if isinstance(entry, Mapping):
        parts: Sequence[object] = [entry.get(name) for name in ("subject", "relation", "object")]
        since, until = _moment(entry.get("since"), "since"), _moment(entry.get("until"), "until")
    elif isinstance(entry, list):
        parts = entry
    else:
        raise ValueError("a triple is neither a list nor an object")  # noqa: TRY004  # as above
    if len(parts) != 3:
        raise ValueError("a triple must have three parts")
    subject, relation, object_ = parts
    source, target = _mention(subject), _mention(object_)
    name = tidy_relation(_text(relation, "relation"))
    yield Fact(source.key, name, target.key, since, until), (source, target)


def _explain_loss(fact: Fact, names: set[str]) -> str:
    if not {fact.source, fact.target} <= names:
        return f"a name has at most {MAX_KEY} characters"
    if fact.source == fact.target:
        return "both ends are one and the same name"
    if len(fact.relation) > MAX_RELATION:
        return f"a relation has at most {MAX_RELATION} characters"
    return f"a memory states at most {MAX_FACTS} facts"


def _count_facts(facts: int) -> str:
    return "1 fact is" if facts == 1 else f"{facts} facts are"


def _mention(name: object) -> Mention:
    text = _text(name, "a name")
    if (mention := to_mention(text)) is None:
        raise ValueError(f"{text[:40]!r} is not a name")
    return mention


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what} is not a text")
    if find_unstorable(value) is not None:
        raise ValueError(f"{what} contains a character that cannot be stored")
    return value.strip()


def _check_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is not a list")  # noqa: TRY004  # as above
    return value


def _moment(value: object, what: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(_text(value, what))
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{what} is not a date such as 2026-01-31") from None
