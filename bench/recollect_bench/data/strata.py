"""Which questions words can answer and which need meaning: strata that are the same for any set.

A set's own strata say what its authors thought of; they differ from set to set, and most sets do
not tell questions that repeat a memory's words from questions that avoid them. That is the one
difference that decides between the lexical and the dense leg, so a rule assigns it. The rule reads
only the question, its gold and how often words occur; it knows nothing of any leg's answer.

1. The *words* of a text are its runs of letters and digits in lower case, without stop words
   (`core/text/analysis.py`) and without what follows an apostrophe (`'s`, `n't`), each cut to a
   stem: endings as in `memories`, `stored`, `storing`, `stores` and `quickly` go. Order and number
   of occurrences do not matter.
2. `df` of a word is the number of documents that hold it, among the `n` documents the question
   searches: those in its scope, or all when it names none. A word is *rare* when at least one and
   at most a fifth of the documents hold it. A word that none holds leads to no document, by words
   at least, and one that stands everywhere (in a conversation the speaker's name) to no certain
   one.
3. The *weight* of a rare word is its inverse document frequency, `ln(1 + (n − df + .5)/(df + .5))`.
   The *share* between a question and a gold document is the weight of the question's rare words
   that the document holds, over the weight of all its rare words; 0 if it has none.
4. With the largest share over all gold documents, the question's stratum by rule is

       paraphrase   under .20: words hardly lead to any of the gold
       multi-hop    else, when more than one document is gold
       exact        else, from .60 on: the question uses the memory's own telling words
       mixed        everything between

What counts as rare is a choice, made by looking at the sizes of LoCoMo's strata and at no leg's
score. Some ninety definitions were tried, which gave 294 to 1,104 paraphrases; this one gives 440,
near an earlier count of 449 (were words that no document holds rare too, 550). Strata by rule are
for comparing configurations on the same questions, not for saying how common such questions are.

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

from recollect.core.text.analysis import words
from recollect.core.text.stop_words import english_stop_words
from recollect_bench.data.datasets import EvaluationSet

RuleStratum = Literal["exact", "paraphrase", "multi-hop", "mixed"]
RULE_STRATA: Final[tuple[RuleStratum, ...]] = get_args(RuleStratum)
# The bar that fusion must clear is set for questions below this share.
PARAPHRASE_BELOW: Final = 0.20
# Three fifths of what can be looked up is in the memory: the question quotes it.
EXACT_FROM: Final = 0.60
# In LoCoMo's conversations the speakers' names stand in 52% to 83% of the turns, the commonest
# topics in 20% to 30%. Anything from 15% to 30% gives strata of nearly the same size there.
RARE_UP_TO: Final = 0.20

_CONTRACTED: Final = re.compile(r"(?:n['’]t|['’](?:s|m|d|re|ve|ll))\b", re.IGNORECASE)
# The first ending that fits is replaced, if at least three letters stay.
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
_SHORTEST_STEM: Final = 3


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many of so many documents each word stands."""

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
        """The rare words of a text with their weights."""
        most = RARE_UP_TO * self.documents
        held = ((word, self.holding.get(word, 0)) for word in stems(text))
        # In a handful of documents one is more than a fifth, and still as rare as can be.
        return {word: self._weight(df) for word, df in held if 0 < df <= max(1, most)}

    def _weight(self, df: int) -> float:
        return log(1 + (self.documents - df + 0.5) / (df + 0.5))


def rule_stratum(question: str, gold_texts: Sequence[str], frequencies: Frequencies) -> RuleStratum:
    """The stratum of a question, given the texts of its gold documents."""
    rare = frequencies.rare(question)
    best = max((share(rare, text) for text in gold_texts), default=0.0)
    if best < PARAPHRASE_BELOW:
        return "paraphrase"
    if len(gold_texts) > 1:
        return "multi-hop"
    return "exact" if best >= EXACT_FROM else "mixed"


def rule_strata(evaluation_set: EvaluationSet) -> dict[str, RuleStratum]:
    """The stratum by rule of every question of a set, by its id."""
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
            # A gold document without text is not stored; it holds no word of any question.
            [contents.get(id, "") for id in evaluation_set.gold[question.id]],
            frequencies.get(question.scope, nothing),
        )
        for question in evaluation_set.questions
    }


def share(rare: Mapping[str, float], text: str) -> float:
    """How much of the rare words' weight a text holds, 0 to 1."""
    whole = sum(rare.values())
    held = stems(text)
    return sum(weight for word, weight in rare.items() if word in held) / whole if whole else 0.0


def stems(text: str) -> frozenset[str]:
    found = frozenset(words(_CONTRACTED.sub("", text)))
    return frozenset(map(stem, found - english_stop_words()))


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """A word without its English ending. Light on purpose: with Porter's stemmer in its place 60 of
    LoCoMo's 1,981 questions change their stratum, and the paraphrases are 429 instead of 440.
    """
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and _may_lose(word, ending):
            word = word.removesuffix(ending) + instead
            if ending in ("ings", "ing", "ed"):
                word = _undoubled(word)
            break
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


def _may_lose(word: str, ending: str) -> bool:
    if len(word) - len(ending) < _SHORTEST_STEM:
        return False
    # `glass` and `status` are no plurals.
    return ending != "s" or word[-2] not in "su"


def _undoubled(word: str) -> str:
    """`planning` is of `plan`; but `telling`, `passing` and `buzzing` had two before."""
    return word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word
