"""Questions about a user's own memories, proposed without a language model.

    exact        a distinctive phrase, word for word, that occurs in one memory only
    paraphrase   a memory's labels (expanded keywords, tags) in a question that fits its category:
                 labels that are not in the content, and none of its rare words
    multi-hop    two memories that alone share a name: a distinctive phrase of each, without the
                 name

A person confirms, edits or strikes each proposal. Where memories have few labels, there are few
paraphrases; a person can type them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from recollect_bench.data.strata import stems
from recollect_bench.own.words import OwnStratum, OwnWords, labels, names

_PHRASE_WORDS: Final = 5
_CONTEXT_WORDS: Final = 4
_MAX_LABELS: Final = 3
# The first template whose own words do not give the memory away is used.
_TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "fact": ("What do I know about {}?",),
    "preference": ("What do I like when it comes to {}?",),
    "decision": ("What was settled about {}?", "How was {} decided?"),
    "procedure": ("How do I go about {}?",),
    "lesson": ("What did I learn about {}?",),
    "reference": ("Where can I look up {}?",),
    "note": ("What did I write down about {}?",),
    "episode": ("What did we talk about when it came to {}?",),
}
_FALLBACK_TEMPLATES: Final = ("What about {}?",)
_IN_COMMON: Final = "What do “{}” and “{}” have in common?"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question and the ids of the memories that answer it. If the text is empty, a person has to
    write one.
    """

    stratum: OwnStratum
    text: str
    gold: tuple[str, ...]

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.stratum} {sorted(self.gold)}".encode()).hexdigest()[:16]


def propose_questions(
    own: OwnWords,
    wanted: Mapping[OwnStratum, int],
    seed: int,
    known: AbstractSet[str],
    *,
    ask: bool,
) -> list[Proposal]:
    """Propose up to the wanted number of questions of each stratum, drawn by the seed, except those
    whose id is known. With `ask`, paraphrases that cannot be generated are left to a person.
    """
    found: list[Proposal] = []
    for stratum, count in wanted.items():
        proposals = (
            proposal
            for proposal in _propose_stratum(stratum, own, seed)
            if proposal.id not in known
        )
        some = list(islice(proposals, max(0, count)))
        if ask and stratum == "paraphrase":
            used = known | {proposal.id for proposal in some}
            blank = (proposal for proposal in _propose_blank(own, seed) if proposal.id not in used)
            some += islice(blank, max(0, count - len(some)))
        found += some
    return found


def _propose_stratum(stratum: OwnStratum, own: OwnWords, seed: int) -> Iterator[Proposal]:
    if stratum == "multi-hop":
        yield from _propose_multi_hop(own, seed)
        return
    make = _propose_exact if stratum == "exact" else _propose_paraphrase
    for id in _shuffle(own.memories, seed):
        if text := make(own, id):
            yield Proposal(stratum, text, (id,))


def _propose_exact(own: OwnWords, id: str) -> str | None:
    return own.phrase(id, _PHRASE_WORDS)


def _propose_paraphrase(own: OwnWords, id: str) -> str | None:
    """Ask with as few labels as single the memory out, the rarest first."""
    memory = own.memories[id]
    content = stems(memory.content)
    usable = [label for label in labels(memory) if (words := stems(label)) and not words & content]
    usable.sort(key=lambda label: len(own.fit(label, own.topics)))
    for count in range(1, min(len(usable), _MAX_LABELS) + 1):
        chosen = usable[:count]
        if own.fit(" ".join(chosen), own.topics) == {id}:
            templates = (*_TEMPLATES.get(memory.category, ()), *_FALLBACK_TEMPLATES)
            texts = (template.format(" and ".join(chosen)) for template in templates)
            allowed = (text for text in texts if not own.given_away("paraphrase", text, (id,)))
            return next(allowed, None)
    return None


def _propose_multi_hop(own: OwnWords, seed: int) -> Iterator[Proposal]:
    """Ask about pairs of memories, each once, that alone share a name or tag."""
    concepts = {
        stem
        for memory in own.memories.values()
        for stem in names(memory.content) | stems(" ".join(memory.tags))
        if len(own.topics[stem]) == 2
    }
    pairs = {tuple(sorted(own.topics[stem])) for stem in concepts}
    for pair in _shuffle(pairs, seed):
        shared = own.shared(pair)
        contexts = [own.phrase(id, _CONTEXT_WORDS, without=shared) for id in pair]
        if all(contexts):
            text = _IN_COMMON.format(*contexts)
            if not own.given_away("multi-hop", text, pair):
                yield Proposal("multi-hop", text, pair)


def _propose_blank(own: OwnWords, seed: int) -> Iterator[Proposal]:
    return (Proposal("paraphrase", "", (id,)) for id in _shuffle(own.memories, seed))


def _shuffle(items: Iterable[T], seed: int) -> list[T]:
    """Shuffle in a way that adding a memory does not change the order of the others."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{seed} {item}".encode()).digest())
