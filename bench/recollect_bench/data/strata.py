"""Which questions can be answered by words and which need meaning: strata that are the same for any
set.

A set's own strata reflect what its authors had in mind; they differ from set to set, and most sets
do not distinguish questions that repeat a memory's words from questions that avoid them. That is
the one difference that decides between the lexical and the dense leg, so a rule assigns it. The
rule reads only the question, its gold and word frequencies; it does not look at any leg's answer.

1. The *words* of a text are its runs of letters and digits in lower case, without stop words
   (`core/text/analysis.py`) and without what follows an apostrophe (`'s`, `n't`), each reduced to a
   stem: the endings of `memories`, `stored`, `storing`, `stores` and `quickly` are cut. Order and
   number of occurrences do not matter.
2. `df` of a word is the number of documents that contain it, among the `n` documents the question
   searches: those in its scope, or all if it has none. A word is *rare* if at least one and at most
   a fifth of the documents contain it. A word that no document contains leads nowhere, by words at
   least, and one that is everywhere (in a conversation, the speaker's name) singles out none.
3. The *weight* of a rare word is its inverse document frequency, `ln(1 + (n − df + .5)/(df + .5))`.
   The *share* between a question and a gold document is the weight of the question's rare words
   that the document contains, over the weight of all its rare words; 0 if it has none.
4. With the largest share over all gold documents, the question's stratum by rule is

       paraphrase   under .20: words hardly lead to any of the gold
       multi-hop    otherwise, if more than one document is gold
       exact        otherwise, from .60 on: the question uses the memory's own distinctive words
       mixed        everything in between

The threshold for rare was chosen by the sizes of LoCoMo's strata, not by any leg's score. About
ninety definitions were tried, which gave 294 to 1,104 paraphrases; this one gives 440, near an
earlier count of 449 (550 if words that no document contains counted as rare, too). Strata by rule
are for comparing configurations on the same questions; they do not show how common such questions
are.

Every question thus counts in `overall`, in its set's own stratum, and in one stratum by rule.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Final, Literal, get_args

from recollect.core.text.segments import words
from recollect.core.text.stop_words import english_stop_words
from recollect_bench.data.datasets import EvaluationSet

RuleStratum = Literal["exact", "paraphrase", "multi-hop", "mixed"]
RULE_STRATA: Final[tuple[RuleStratum, ...]] = get_args(RuleStratum)
# The bar that fusion must clear is set for questions below this share.
PARAPHRASE_BELOW: Final = 0.20
# From three fifths of the rare words' weight on, the question quotes the memory.
EXACT_FROM: Final = 0.60
# In LoCoMo's conversations the speakers' names occur in 52% to 83% of the turns, the most common
# topics in 20% to 30%. Anything from 15% to 30% gives strata of nearly the same size there.
MAX_RARE_SHARE: Final = 0.20

_CONTRACTED: Final = re.compile(r"(?:n['’]t|['’](?:s|m|d|re|ve|ll))\b", re.IGNORECASE)
# The first ending that matches is replaced, if at least three letters remain.
_ENDINGS: Final = (
    ("ies", "y"),
    ("ied", "y"),
    ("sses", "ss"),
    ("ings", ""),
    ("ing", ""),
    ("ed", ""),
    ("es", ""),
    ("ly", ""),
    ("s", ""),
)
_MIN_STEM: Final = 3


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many of the documents contain each word."""

    documents: int
    holding: Mapping[str, int]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Frequencies:
        documents, holding = 0, Counter[str]()
        for text in texts:
            documents += 1
            holding.update(stems(text))
        return cls(documents, holding)

    def rare(self, text: str) -> dict[str, float]:
        """Return the rare words of a text with their weights."""
        max_df = MAX_RARE_SHARE * self.documents
        counts = ((word, self.holding.get(word, 0)) for word in stems(text))
        # Of a handful of documents, one is more than a fifth, yet no word can be rarer.
        return {word: self._weight(df) for word, df in counts if 0 < df <= max(1, max_df)}

    def _weight(self, df: int) -> float:
        return log(1 + (self.documents - df + 0.5) / (df + 0.5))


def rule_stratum(question: str, gold_texts: Sequence[str], frequencies: Frequencies) -> RuleStratum:
    """Return the stratum of a question, given the texts of its gold documents."""
    rare = frequencies.rare(question)
    best = max((share(rare, text) for text in gold_texts), default=0.0)
    if best < PARAPHRASE_BELOW:
        return "paraphrase"
    if len(gold_texts) > 1:
        return "multi-hop"
    return "exact" if best >= EXACT_FROM else "mixed"


def rule_strata(evaluation_set: EvaluationSet) -> dict[str, RuleStratum]:
    """Return the stratum by rule of every question of a set, by its id."""
    contents = {document.id: document.content for document in evaluation_set.documents}
    scopes = defaultdict[str | None, list[str]](list)
    for document in evaluation_set.documents:
        scopes[None].append(document.content)
        if document.scope is not None:
            scopes[document.scope].append(document.content)
    frequencies = {scope: Frequencies.of(texts) for scope, texts in scopes.items()}
    nothing = Frequencies(0, {})
    return {
        question.id: rule_stratum(
            question.text,
            # A gold document without text is not stored; it contains no word of any question.
            [contents.get(id, "") for id in evaluation_set.gold[question.id]],
            frequencies.get(question.scope, nothing),
        )
        for question in evaluation_set.questions
    }


def share(rare: Mapping[str, float], text: str) -> float:
    """Return the share of the rare words' weight that a text contains, 0 to 1."""
    whole = sum(rare.values())
    found = stems(text)
    return sum(weight for word, weight in rare.items() if word in found) / whole if whole else 0.0


def stems(text: str) -> frozenset[str]:
    found = frozenset(words(_CONTRACTED.sub("", text)))
    return frozenset(map(stem, found - english_stop_words()))


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Remove a word's English ending. Light on purpose: with Porter's stemmer instead, 60 of
    LoCoMo's 1,981 questions change their stratum, and the paraphrases are 429 instead of 440.
    """
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and _may_lose(word, ending):
            word = word.removesuffix(ending) + instead
            if ending in ("ings", "ing", "ed"):
                word = _undouble(word)
            break
    return word.removesuffix("e") if len(word) > _MIN_STEM else word


def _may_lose(word: str, ending: str) -> bool:
    if len(word) - len(ending) < _MIN_STEM:
        return False
    # `glass` and `status` are not plurals.
    return ending != "s" or word[-2] not in "su"


def _undouble(word: str) -> str:
    """Undo doubling: `planning` is from `plan`, but `tell`, `pass` and `buzz` end in two."""
    return word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word
