"""How distinctive the words of a user's memories are, and which words would give an answer away.

A question can be labelled without reading every memory only if its words match one memory, or the
pair it was written for, and no other. Which words a question of each stratum must not contain is
decided here, for proposed questions and for those that a person types.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, get_args

from recollect.core.memory.memory import Memory
from recollect_bench.data.strata import Frequencies, stems

OwnStratum = Literal["exact", "paraphrase", "multi-hop"]
OWN_STRATA: Final[tuple[OwnStratum, ...]] = get_args(OwnStratum)

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_TOKEN: Final = re.compile(r"\S+")
_AROUND_WORDS: Final = "\"'`“”‘’«»()[]{}<>.,;:!?*#…—–-"


@dataclass(frozen=True, slots=True)
class OwnWords:
    """The memories by id, and the ids of those with each stem: `in_content` covers the content,
    `topics` also tags and expanded keywords.
    """

    memories: Mapping[str, Memory]
    frequencies: Frequencies
    in_content: Mapping[str, AbstractSet[str]]
    topics: Mapping[str, AbstractSet[str]]

    @classmethod
    def of(cls, memories: Iterable[Memory]) -> OwnWords:
        by_id = {str(memory.id): memory for memory in memories}
        in_content, topics = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        for id, memory in by_id.items():
            for stem in stems(memory.content):
                in_content[stem].add(id)
            for stem in stems(" ".join((memory.content, *labels(memory)))):
                topics[stem].add(id)
        frequencies = Frequencies(len(by_id), {stem: len(ids) for stem, ids in in_content.items()})
        return cls(by_id, frequencies, in_content, topics)

    def rare(self, id: str) -> frozenset[str]:
        """Return the stems of a memory's rare words."""
        return frozenset(self.frequencies.rare(self.memories[id].content))

    def shared(self, gold: Collection[str]) -> frozenset[str]:
        """Return the stems that these memories have and no other does."""
        common = frozenset.intersection(*(self._topics_of(id) for id in gold))
        return frozenset(stem for stem in common if self.topics[stem] == set(gold))

    def fit(self, text: str, where: Mapping[str, AbstractSet[str]]) -> AbstractSet[str]:
        """Return the memories that have every word of a text."""
        holders = [where.get(stem, frozenset()) for stem in stems(text)]
        return set.intersection(*map(set, holders)) if holders else set()

    def given_away(self, stratum: OwnStratum, text: str, gold: Collection[str]) -> frozenset[str]:
        """Return the stems in a question that its stratum does not allow."""
        if stratum == "exact":
            return frozenset()
        if stratum == "paraphrase":
            return stems(text) & frozenset().union(*map(self.rare, gold))
        return stems(text) & self.shared(gold)

    def phrase(self, id: str, length: int, without: AbstractSet[str] = frozenset()) -> str | None:
        """Return the most distinctive phrase of a memory, if it occurs in no other."""
        found = max(
            self._weigh_phrases(self.memories[id].content, length, without),
            default=(0.0, ""),
            key=_first,
        )[1]
        return found if found and self.fit(found, self.in_content) == {id} else None

    def _weigh_phrases(
        self, content: str, length: int, without: AbstractSet[str]
    ) -> Iterator[tuple[float, str]]:
        for sentence, tokens in _sentences(content):
            for first in range(len(tokens)):
                last = tokens[min(first + length, len(tokens)) - 1]
                text = sentence[tokens[first].start() : last.end()].strip(_AROUND_WORDS)
                # A quoted phrase should not begin or end with a stop word.
                if _is_telling(tokens[first][0]) and _is_telling(last[0]):
                    weights = self.frequencies.rare(text)
                    if weights and not stems(text) & without:
                        yield sum(weights.values()), text

    def _topics_of(self, id: str) -> frozenset[str]:
        memory = self.memories[id]
        return stems(" ".join((memory.content, *labels(memory))))


def labels(memory: Memory) -> Sequence[str]:
    """Return a memory's labels: its expanded keywords and tags."""
    return (*memory.expanded_keywords, *memory.tags)


def names(content: str) -> frozenset[str]:
    """Return the stems of words that look like names or identifiers: capital letters inside a
    sentence, digits among letters, underscores.
    """
    found: set[str] = set()
    for _, tokens in _sentences(content):
        for place, token in enumerate(tokens):
            word = token[0].strip(_AROUND_WORDS).removesuffix("'s").removesuffix("’s")
            if _is_identifier(word) or (place and word[:1].isupper()):
                found |= stems(word)
    return frozenset(found)


def _sentences(content: str) -> Iterator[tuple[str, list[re.Match[str]]]]:
    for sentence in _SENTENCE_END.split(content):
        yield sentence, list(_TOKEN.finditer(sentence))


def _is_telling(token: str) -> bool:
    return bool(stems(token))


def _is_identifier(word: str) -> bool:
    has_digit = any(character.isdigit() for character in word)
    has_letter = any(character.isalpha() for character in word)
    return "_" in word or (has_digit and has_letter) or any(map(str.isupper, word[1:]))


def _first(weighed: tuple[float, str]) -> float:
    return weighed[0]
