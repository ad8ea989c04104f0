"""Questions about a user's own memories, proposed without a language model.

    exact        a telling phrase, word for word, that stands in one memory only
    paraphrase   what a memory is labelled with (expanded keywords, tags), in a question of its
                 category's kind: labels that are not in the content, and none of its rare words
    multi-hop    two memories that alone share a name: a telling phrase of each, without the name

They are proposals: a person confirms, edits or strikes each. Paraphrases made from labels are few
where memories have none; then a person can type them.
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

_PHRASE: Final = 5
_CONTEXT: Final = 4
_MAX_LABELS: Final = 3
# The first one whose own words do not give the memory away is taken.
_ASKED: Final[Mapping[str, tuple[str, ...]]] = {
    "fact": ("What do I know about {}?",),
    "preference": ("What do I like when it comes to {}?",),
    "decision": ("What was settled about {}?", "How was {} decided?"),
    "procedure": ("How do I go about {}?",),
    "lesson": ("What did I learn about {}?",),
    "reference": ("Where can I look up {}?",),
    "note": ("What did I write down about {}?",),
    "episode": ("What did we talk about when it came to {}?",),
}
_ELSE: Final = ("What about {}?",)
_IN_COMMON: Final = "What do “{}” and “{}” have in common?"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question and the ids of the memories that answer it. Without a text, a person is to write
    one.
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
    """Up to as many questions of each stratum as are wanted, drawn by the seed; none whose id is
    known. With `ask`, paraphrases that cannot be made are left to a person.
    """
    found: list[Proposal] = []
    for stratum, count in wanted.items():
        made = (
            proposal for proposal in _of_stratum(stratum, own, seed) if proposal.id not in known
        )
        some = list(islice(made, max(0, count)))
        if ask and stratum == "paraphrase":
            used = known | {proposal.id for proposal in some}
            blank = (proposal for proposal in _blank(own, seed) if proposal.id not in used)
            some += islice(blank, max(0, count - len(some)))
        found += some
    return found


def _of_stratum(stratum: OwnStratum, own: OwnWords, seed: int) -> Iterator[Proposal]:
    if stratum == "multi-hop":
        yield from _multi_hop(own, seed)
        return
    make = _exact if stratum == "exact" else _paraphrase
    for id in _drawn(own.memories, seed):
        if text := make(own, id):
            yield Proposal(stratum, text, (id,))


def _exact(own: OwnWords, id: str) -> str | None:
    return own.phrase(id, _PHRASE)


def _paraphrase(own: OwnWords, id: str) -> str | None:
    """As few labels as single the memory out, the rarest first."""
    memory = own.memories[id]
    told = stems(memory.content)
    usable = [label for label in labels(memory) if (words := stems(label)) and not words & told]
    usable.sort(key=lambda label: len(own.fit(label, own.topics)))
    for count in range(1, min(len(usable), _MAX_LABELS) + 1):
        chosen = usable[:count]
        if own.fit(" ".join(chosen), own.topics) == {id}:
            asked = (*_ASKED.get(memory.category, ()), *_ELSE)
            texts = (template.format(" and ".join(chosen)) for template in asked)
            fitting = (text for text in texts if not own.given_away("paraphrase", text, (id,)))
            return next(fitting, None)
    return None


def _multi_hop(own: OwnWords, seed: int) -> Iterator[Proposal]:
    """Pairs of memories, each once, through a name or tag that they alone share."""
    concepts = {
        stem
        for memory in own.memories.values()
        for stem in names(memory.content) | stems(" ".join(memory.tags))
        if len(own.topics[stem]) == 2
    }
    pairs = {tuple(sorted(own.topics[stem])) for stem in concepts}
    for pair in _drawn(pairs, seed):
        shared = own.shared(pair)
        contexts = [own.phrase(id, _CONTEXT, without=shared) for id in pair]
        if all(contexts):
            text = _IN_COMMON.format(*contexts)
            if not own.given_away("multi-hop", text, pair):
                yield Proposal("multi-hop", text, pair)


def _blank(own: OwnWords, seed: int) -> Iterator[Proposal]:
    return (Proposal("paraphrase", "", (id,)) for id in _drawn(own.memories, seed))


def _drawn(items: Iterable[T], seed: int) -> list[T]:
    """In an order by chance that a new memory does not upset."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{seed} {item}".encode()).digest())
