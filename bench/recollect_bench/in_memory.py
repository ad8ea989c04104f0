"""The reference store: dicts, and a lexical leg short enough to check by reading it.

The conformance suite requires the other stores to behave like this one. It stores nothing on disk,
so it also serves tests and experiments that need a store without a file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from math import fsum, log
from typing import Any, Final, Self
from uuid import UUID

from recollect.adapters.in_memory_keys import InMemoryKeys
from recollect.core.admin.stats import Stats, count_languages
from recollect.core.errors import Conflict
from recollect.core.memory.duplicates import PlacedText, is_same, normalize
from recollect.core.memory.ids import IdPart, ending
from recollect.core.memory.listing import Cursor, Listing, Table, week_of
from recollect.core.memory.memory import EPISODE, Memory, Scope
from recollect.core.recall.relevance import MIN_ROWS, idf, most_information
from recollect.core.recall.request import Candidate
from recollect.core.recall.settings import SettingChange, WordQuery
from recollect.core.recall.successors import (
    AsOf,
    Fetched,
    Resolution,
    find_link_targets,
    successors_of,
)
from recollect.core.text.analysis import clean_query
from recollect.core.text.terms import WEIGHTS, Analyzed, Forms, analyze_fields, query_forms

# The usual BM25 constants (Robertson and Zaragoza 2009): how soon repetitions of a word stop adding
# to the score, and how much long texts are penalized.
_K1: Final = 1.2
_B: Final = 0.75
# How many former states of a memory are kept.
MAX_VERSIONS: Final = 100


MemoryKey = tuple[str, UUID]
"""The owner and the id of a memory: the same id under two owners is two memories."""


@dataclass(slots=True)
class InMemoryStore(InMemoryKeys):
    """Implements MemoryStore, SettingsStore and KeyStore. No call awaits, so each is atomic."""

    _memories: dict[MemoryKey, Memory] = field(default_factory=dict)
    _terms: dict[MemoryKey, dict[str, float]] = field(default_factory=dict)
    _spoken: dict[MemoryKey, tuple[str, ...]] = field(default_factory=dict)
    _versions: dict[MemoryKey, list[tuple[Memory, datetime]]] = field(default_factory=dict)
    _erased: set[MemoryKey] = field(default_factory=set)
    _former: dict[str, dict[str, str]] = field(default_factory=dict)
    _removed: dict[tuple[str, str | None, str], datetime] = field(default_factory=dict)
    _settings: dict[str, object] = field(default_factory=dict)
    _settings_log: list[SettingChange] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def add(self, memory: Memory) -> None:
        if not self._is_free(memory):
            raise Conflict(
                f"the id {memory.id} is taken",
                remedy="Store it under a new id, or update the memory that has this one.",
            )
        self._put(memory)

    async def add_unless_known(self, memory: Memory) -> Memory | None:
        for known in self._list_current(memory.owner):
            if is_same(known, memory):
                return known
        await self.add(memory)
        return None

    async def find_same(self, memories: Sequence[Memory]) -> dict[UUID, Memory]:
        return {
            memory.id: known
            for memory in memories
            for known in reversed(self._list_current(memory.owner))
            if is_same(known, memory)
        }

    async def find_removed(
        self, owner: str, texts: Collection[PlacedText]
    ) -> dict[PlacedText, datetime]:
        keys = {(project, text): (owner, project, normalize(text)) for project, text in texts}
        return {text: self._removed[key] for text, key in keys.items() if key in self._removed}

    async def add_all(self, memories: Sequence[Memory]) -> set[UUID]:
        new = {memory.id: memory for memory in reversed(memories) if self._is_free(memory)}
        for memory in new.values():
            self._put(memory)
        return set(new)

    async def get(self, owner: str, id: UUID) -> Memory | None:
        return self._memories.get((owner, id))

    async def get_many(
        self, owner: str, ids: Collection[UUID], *, forgotten: bool = False
    ) -> dict[UUID, Memory]:
        found = (self._memories.get((owner, id)) for id in dict.fromkeys(ids))
        return {
            memory.id: memory
            for memory in found
            if memory is not None and (forgotten or memory.deleted_at is None)
        }

    async def versions(self, owner: str, id: UUID) -> list[Memory]:
        memory = self._memories.get((owner, id))
        if memory is None:
            return []
        return [
            replace(former, is_sensitive=former.is_sensitive or memory.is_sensitive)
            for former, _ in self._versions.get((owner, id), ())
        ]

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
        known = self._list_known(owner, as_of)
        memories = {id: known[id] for id in ids if id in known}
        return Fetched(memories, successors_of(known.values()).keys() & memories.keys())

    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Resolution:
        known = self._list_known(owner, as_of).values()
        return find_link_targets(known, old, named).with_memories(known)

    async def ids_with_prefix(
        self,
        owner: str,
        prefix: IdPart,
        limit: int,
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        return sorted(
            memory.id
            for memory in self._memories.values()
            if memory.owner == owner
            and project in (None, memory.project)
            and prefix.low <= memory.id <= prefix.high
            and (forgotten or memory.deleted_at is None)
        )[:limit]

    async def ids_with_endings(
        self,
        owner: str,
        endings: Collection[str],
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        return sorted(
            memory.id
            for memory in self._memories.values()
            if memory.owner == owner
            and project in (None, memory.project)
            and ending(memory.id) in endings
            and (forgotten or memory.deleted_at is None)
        )

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        current = await self.get(memory.owner, memory.id)
        if current is None or current.version != based_on:
            return False
        self._note_removed(current, memory)
        key = memory.owner, memory.id
        former = [*self._versions.get(key, ()), (current, memory.updated_at)]
        self._versions[key] = former[-MAX_VERSIONS:]
        self._put(memory)
        return True

    async def erase(self, owner: str, id: UUID) -> bool:
        memory = await self.get(owner, id)
        if memory is None:
            return False
        self._note_removed(memory, None)
        self._erased.add((owner, id))
        del self._memories[owner, id], self._terms[owner, id], self._spoken[owner, id]
        self._versions.pop((owner, id), None)
        return True

    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        found = [
            memory
            for memory in self._memories.values()
            if memory.owner == owner
            and scope.covers(memory)
            and (after is None or _age(memory) < (after.created_at, after.id))
        ]
        return sorted(found, key=_age, reverse=True)[:limit]

    async def table(self, owner: str, listing: Listing) -> Table:
        found = [
            memory
            for memory in self._memories.values()
            if memory.owner == owner and listing.covers(memory)
        ]
        found.sort(key=listing.key, reverse=listing.order == "desc")
        rows = found[listing.offset : listing.offset + listing.limit]
        return Table(tuple(rows), len(found))

    async def change_mark(self, owner: str) -> object:
        return {id: memory.version for (of, id), memory in self._memories.items() if of == owner}

    async def growth(self, owner: str, since: date, project: str | None = None) -> dict[date, int]:
        weeks = Counter(
            week_of(memory.created_at)
            for memory in self._list_current(owner)
            if project in (None, memory.project)
        )
        return {week: count for week, count in weeks.items() if week >= since}

    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        if query.as_of is not None:
            then = InMemoryStore()
            for memory in self._list_known(owner, query.as_of).values():
                then._put(memory)
            return await then.search_words(owner, scope, replace(query, as_of=None))
        inside = [
            memory
            for memory in self._list_current(owner)
            if scope.covers(memory) and memory.id not in query.exclude
        ]
        languages = self._languages(owner)
        every = query_forms(clean_query(query.text), languages)
        any_of = dict.fromkeys((*every, *query_forms(clean_query(query.expanded), languages)))
        if not any_of:
            return _find_containing(clean_query(query.text), inside)[: query.depth]
        score = self._bm25(owner, any_of)
        evidence = self._evidence(owner, any_of, len(every))
        found = sorted(
            (
                _to_candidate(memory, score(memory))._replace(evidence=evidence(memory))
                for memory in inside
                if any(self._holds(memory, word) for word in any_of)
            ),
            key=_best_first,
        )
        # Memories with every word get a place before those with only some of them.
        full = [
            candidate
            for candidate in found
            if every
            and all(self._holds(self._memories[owner, candidate.id], word) for word in every)
        ]
        first = list(dict.fromkeys((*full, *found)))[: query.depth]
        return sorted(first, key=_best_first)

    async def former_names(self, owner: str) -> Mapping[str, str]:
        return dict(self._former.get(owner, {}))

    async def rename_project(
        self, owner: str, old: str, new: str, *, by: str | None, at: datetime
    ) -> int:
        moved = [
            memory
            for memory in self._memories.values()
            if memory.owner == owner and memory.project == old
        ]
        for memory in moved:
            changed = {"project": new, "version": memory.version + 1, "updated_at": at}
            changes: dict[str, Any] = {**changed, "changed_by": by}
            await self.replace(replace(memory, **changes), based_on=memory.version)
        former = self._former.setdefault(owner, {})
        former.pop(new, None)
        former.update(dict.fromkeys((*(n for n, p in former.items() if p == old), old), new))
        return len(moved)

    async def projects(self, owner: str) -> list[str]:
        return sorted(
            {memory.project for memory in self._list_current(owner) if memory.project is not None}
        )

    async def stats(self, owner: str, project: str | None = None) -> Stats:
        current = [
            memory for memory in self._list_current(owner) if project in (None, memory.project)
        ]
        everything = sum(
            memory.owner == owner and project in (None, memory.project)
            for memory in self._memories.values()
        )
        return Stats(
            memories=len(current),
            forgotten=everything - len(current),
            sensitive=sum(memory.is_sensitive for memory in current),
            by_category=dict(Counter(memory.category for memory in current)),
            by_project=dict(Counter(m.project for m in current if m.project is not None)),
            by_language=count_languages(
                Counter(" ".join(self._spoken[owner, memory.id]) for memory in current)
            ),
        )

    async def read_settings(self) -> Mapping[str, object]:
        return dict(self._settings)

    async def write_settings(self, changes: Mapping[str, object], *, by: str, at: datetime) -> None:
        for name, value in changes.items():
            if name not in self._settings or self._settings[name] != value:
                old = self._settings.get(name)
                self._settings_log.append(SettingChange(name, old, value, by, at))
        self._settings.update(changes)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        return self._settings_log[::-1][:limit]

    def _is_free(self, memory: Memory) -> bool:
        return (memory.owner, memory.id) not in self._memories.keys() | self._erased

    def _note_removed(self, old: Memory, new: Memory | None) -> None:
        if old.category == EPISODE:
            return
        is_same = new is not None and (new.project, new.content) == (old.project, old.content)
        if new is None:
            self._note_removal(old, old.deleted_at or datetime.now(UTC))
        elif old.deleted_at is None and (not is_same or new.deleted_at is not None):
            self._note_removal(old, new.deleted_at or new.updated_at)
        if new is not None and new.deleted_at is None:
            self._removed.pop(_removal_key(new), None)

    def _note_removal(self, memory: Memory, at: datetime) -> None:
        key = _removal_key(memory)
        self._removed[key] = max(at, self._removed.get(key, at))

    def _put(self, memory: Memory) -> None:
        key = memory.owner, memory.id
        self._memories[key] = memory
        analyzed = analyze_fields(
            memory.content, memory.expanded_keywords, memory.tags, memory.category
        )
        self._terms[key] = _weigh_terms(analyzed)
        self._spoken[key] = analyzed.languages

    def _list_current(self, owner: str) -> list[Memory]:
        return [
            memory
            for memory in self._memories.values()
            if memory.owner == owner and memory.deleted_at is None
        ]

    def _list_known(self, owner: str, as_of: AsOf) -> dict[UUID, Memory]:
        """Return what is not forgotten, now or at `as_of`. Of several states that were current at
        that moment, the one written last.
        """
        if as_of is None:
            return {memory.id: memory for memory in self._list_current(owner)}
        known: dict[UUID, Memory] = {}
        for memory in self._memories.values():
            if memory.owner != owner or memory.created_at > as_of:
                continue
            held = [
                replace(former, is_sensitive=former.is_sensitive or memory.is_sensitive)
                for former, until in self._versions.get((owner, memory.id), ())
                if former.updated_at <= as_of < until
            ]
            then = memory if memory.updated_at <= as_of else next(reversed(held), None)
            if then is not None and then.deleted_at is None:
                known[memory.id] = then
        return known

    def _languages(self, owner: str) -> set[str]:
        spoken = (self._spoken[owner, memory.id] for memory in self._list_current(owner))
        return {language for languages in spoken for language in languages}

    def _holds(self, memory: Memory, word: Forms) -> bool:
        terms = self._terms[memory.owner, memory.id]
        return any(form in terms for form in word)

    def _evidence(
        self, owner: str, words: Collection[Forms], asked: int
    ) -> Callable[[Memory], float]:
        """Return a function for the share of the query's information that a memory contains. The
        first `asked` words are the query's own; the others expand it.
        """
        current = self._list_current(owner)
        rows = max(len(current), MIN_ROWS)
        weights = {
            word: idf(rows, max(sum(self._holds(memory, word) for memory in current), 1))
            for word in words
        }
        ceiling = most_information([*weights.values()][: asked or len(words)])

        def evidence(memory: Memory) -> float:
            held = fsum(weight for word, weight in weights.items() if self._holds(memory, word))
            return min(held / ceiling, 1.0)

        return evidence

    def _bm25(self, owner: str, words: Collection[Forms]) -> Callable[[Memory], float]:
        """Return the BM25 score, by how rare a term is among this owner's memories. A word counts
        by its best form.
        """
        documents = [self._terms[owner, memory.id] for memory in self._list_current(owner)]
        mean_length = fsum(map(_length, documents)) / max(len(documents), 1)
        rarity = {
            form: log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            for form in {form for forms in words for form in forms}
            for holding in (sum(form in document for document in documents),)
        }

        def score(memory: Memory) -> float:
            document = self._terms[owner, memory.id]
            long = _K1 * (1 - _B + _B * _length(document) / mean_length)

            def weigh(form: str) -> float:
                times = document.get(form, 0.0)
                return rarity[form] * times * (_K1 + 1) / (times + long)

            return fsum(max(map(weigh, forms)) for forms in words)

        return score


def _removal_key(memory: Memory) -> tuple[str, str | None, str]:
    return memory.owner, memory.project, normalize(memory.content)


def _age(memory: Memory) -> tuple[datetime, UUID]:
    return memory.created_at, memory.id


def _best_first(candidate: Candidate) -> tuple[float, UUID]:
    return -candidate.score, candidate.id


def _to_candidate(memory: Memory, score: float) -> Candidate:
    return Candidate(memory.id, score, memory.importance, memory.created_at)


def _find_containing(text: str, memories: Sequence[Memory]) -> list[Candidate]:
    """Find memories that contain a query without words, such as an emoji, literally."""
    if not text:
        return []
    found = [memory for memory in memories if text.lower() in memory.content.lower()]
    return [_to_candidate(memory, 1.0) for memory in sorted(found, key=lambda memory: memory.id)]


def _length(document: Mapping[str, float]) -> float:
    return fsum(document.values())


def _weigh_terms(analyzed: Analyzed) -> dict[str, float]:
    """Count the occurrences of each term, weighted by field."""
    counts: dict[str, float] = defaultdict(float)
    for weight, positions in zip(WEIGHTS, analyzed.fields, strict=True):
        for forms in positions:
            for form in forms:
                counts[form] += weight
    return dict(counts)
