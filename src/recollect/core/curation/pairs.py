"""What one memory is to another one, decided by rules: pure, and the same in every store.

Two memories are split into statements and each statement of the newer one is compared with each of
the older one. They must be about the same subject; then a value that differs, a word of change or a
negation decides. What the rules find and what they cannot is in docs/adr/0048.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, get_args

from recollect.core.curation.cues import (
    count_negations,
    find_change,
    find_changing,
    find_ended,
    find_present,
    strip_notice,
)
from recollect.core.curation.rewrites import find_rewrite, is_event, share_of, tokenize
from recollect.core.curation.values import (
    Value,
    find_distinctive_words,
    find_names,
    find_states,
    find_stems,
    find_subject,
    find_values,
    is_loose,
)
from recollect.core.recall.relevance import everyday_stems, stem
from recollect.core.text.segments import words

Kind = Literal["duplicate_of", "refines", "supersedes", "contradicts"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

# A longer text is a document: it states many things, and no other text replaces it as a whole.
MAX_TEXT: Final = 1_200
_MAX_STATEMENTS: Final = 12
_SENTENCE_END: Final = re.compile(
    r"(?<![A-Z]r\.)(?<!\bSt\.)(?<!\bNo\.)(?<=[.!?])\s+(?=[^a-z])|(?<=[。！？；])|\n+"
)
_SPEAKER: Final = re.compile(r"\A(?:user|assistant|human|ai|agent|system):\s+", re.IGNORECASE)
# People who speak about themselves: two such statements share a subject that they do not name.
_OWN: Final = re.compile(
    r"\b(?:I|my|mine|we|our|ours|me|us|ich|mein\w*|wir|unser\w*|je|mon|ma|mes|nous|notre|nos|yo|mi|mis"
    r"|nuestr\w+|я|мой|моя|моё|мои|мы|наш\w*)\b|[我俺僕私]",
    re.IGNORECASE,
)
MAX_QUOTE: Final = 300
_MAX_HEADING: Final = 120
_NO_HEADING_END: Final = ".!?:;,。！？"
# Chosen on the knowledge updates of LongMemEval and on agentmem_dev, without a held-out part
# (docs/adr/0048).
_EVERYDAY_WEIGHT: Final = 0.3
_NAME_WEIGHT: Final = 1.5
_CONTEXT_WEIGHT: Final = 0.25
_MAX_CONTEXT: Final = 4.0
_MIN_SCORE: Final = 3.8
_MIN_SHARE: Final = 0.3
_MIN_WEIGHT: Final = 1.2
_NEAR_COPY: Final = 0.5
_CHANGE_SHARE: Final = 0.5
_CHANGE_WEIGHT: Final = 2.5
_CHANGE_LIKENESS: Final = 0.4
_MUCH_WEIGHT: Final = 4.5
# The same sentence with another value is about the same subject, however short it is.
_SAME_SENTENCE: Final = 3.0
_SURE: Final = 1.8
_HALF: Final = 0.5
# For whole memories: nearly the same in words, nearly the same in meaning, and a refinement.
_NEAR: Final = 0.75
_CLOSE: Final = 0.95
_REFINED: Final = 0.5
_MIN_STEMS: Final = 3
# Pairs that the rules leave undecided, but that are worth a call to a language model. Chosen on the
# same sets (docs/adr/0048).
_DOUBTFUL_CLOSENESS: Final = 0.7
_DOUBTFUL_LIKENESS: Final = 0.2
_DOUBTFUL_WEIGHT: Final = 3.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What the newer memory is to the older one, and the words of both that say so."""

    kind: Kind
    confidence: float
    newer_quote: str
    older_quote: str
    reason: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, taken apart."""

    text: str
    tokens: tuple[str, ...]
    stems: frozenset[str]
    subject: frozenset[str]
    names: frozenset[str]
    values: tuple[Value, ...]
    negations: int
    is_own: bool
    cue: str | None
    is_announced: bool
    states: frozenset[str]
    ended: tuple[tuple[str, frozenset[str]], ...]

    @property
    def details(self) -> frozenset[str]:
        """Its names and values."""
        return self.names | {f"{value.key} {value.value}" for value in self.values}


@dataclass(frozen=True, slots=True)
class _Match:
    """Two statements about the same: the weight of the stems they share, in all and as a share of
    the lighter and of both together; `context` is what else their memories share.
    """

    newer: Statement
    older: Statement
    weight: float
    share: float
    likeness: float
    context: float


def normalize(text: str) -> tuple[str, ...]:
    """Return what a text says, without case, punctuation, spaces and speaker."""
    return words(_SPEAKER.sub("", text))


def compare(
    newer: str, older: str, *, is_later: bool = True, closeness: float | None = None
) -> Decision | None:
    """Return what the newer memory is to the older one; None if both should be kept. `closeness` is
    how near they are in meaning, from 0 to 1, if a model has compared them.
    """
    if max(len(newer), len(older)) > MAX_TEXT:
        return None
    if normalize(newer) == normalize(older):
        return Decision("duplicate_of", 1.0, _quote(newer), _quote(older), "the same words")
    if has_heading(newer) or has_heading(older):
        return None
    changed = compare_statements(newer, older, is_later=is_later)
    return changed or _compare_wholes(newer, older, closeness)


def compare_statements(
    newer: str, older: str, *, is_later: bool = True, question: str | None = None
) -> Decision | None:
    """Return the surest change between any two of their statements: superseded or contradicted. If
    both answer a `question`, less is needed: it is clear what they are about.
    """
    if max(len(newer), len(older)) > MAX_TEXT or has_heading(newer) or has_heading(older):
        return None
    matches = _matches(split_statements(newer), split_statements(older))
    asked = frozenset[str]() if question is None else find_stems(question)
    found = [d for match in matches if (d := _change(match, asked, is_later=is_later))]
    return max(found, key=lambda decision: decision.confidence, default=None)


def measure_doubt(newer: str, older: str, closeness: float | None = None) -> float:
    """Estimate how likely it is that `compare` missed something in a pair that it left undecided; 0
    unless the pair is doubtful: close in meaning or, if no model has compared them, with a subject
    in common that makes up much of what they say.
    """
    if max(len(newer), len(older)) > MAX_TEXT or has_heading(newer) or has_heading(older):
        return 0.0
    if closeness is not None:
        return closeness if closeness >= _DOUBTFUL_CLOSENESS else 0.0
    weight, likeness = _share_subject(_statement(newer), _statement(older))
    is_doubtful = weight >= _DOUBTFUL_WEIGHT and likeness >= _DOUBTFUL_LIKENESS
    return likeness if is_doubtful else 0.0


@lru_cache(maxsize=2_000)
def split_statements(text: str) -> tuple[Statement, ...]:
    """Split a memory into statements. Questions are among them: people state facts in them too."""
    return tuple(map(_statement, _sentences(_SPEAKER.sub("", text))))


def _sentences(text: str) -> Iterator[str]:
    found = (part.strip() for part in _SENTENCE_END.split(text))
    yield from islice((part for part in found if part), _MAX_STATEMENTS)


def _statement(text: str) -> Statement:
    telling = find_distinctive_words(text)
    states = find_states(telling)
    return Statement(
        text,
        tokenize(text),
        frozenset(map(stem, telling)) | states,
        find_subject(telling),
        find_names(text),
        tuple(find_values(text)),
        count_negations(text),
        _OWN.search(text) is not None,
        find_change(text),
        is_announced=strip_notice(text) != text,
        states=states,
        ended=tuple((cue, find_stems(what)) for cue, what in find_ended(text)),
    )


def has_heading(text: str) -> bool:
    """Whether a text is a document with a title: a first line that is no sentence."""
    first, _, rest = text.partition("\n")
    return bool(rest.strip()) and len(first) <= _MAX_HEADING and first[-1:] not in _NO_HEADING_END


def _matches(newer: Sequence[Statement], older: Sequence[Statement]) -> Iterator[_Match]:
    together = _union(newer) & _union(older)
    for new in newer:
        for old in older:
            if not new.stems & old.stems:
                continue
            shared = new.subject & old.subject
            names = new.names & old.names
            weight = _weigh(shared, names)
            mine, other = _weigh(new.subject, new.names), _weigh(old.subject, old.names)
            yield _Match(
                new,
                old,
                weight,
                min(1.0, weight / max(min(mine, other), _EVERYDAY_WEIGHT)),
                min(1.0, weight / max(mine + other - weight, _EVERYDAY_WEIGHT)),
                _weigh(together - shared, frozenset()),
            )


def _union(statements: Iterable[Statement]) -> frozenset[str]:
    return frozenset[str]().union(*(statement.subject for statement in statements))


def _weigh(stems: Iterable[str], names: Collection[str]) -> float:
    return sum(
        _EVERYDAY_WEIGHT if stem in everyday_stems() else _NAME_WEIGHT if stem in names else 1.0
        for stem in stems
    )


def _change(match: _Match, asked: frozenset[str], *, is_later: bool) -> Decision | None:
    """Find a value of the older statement that the newer one gives differently, or words of
    change.
    """
    found = _find_change(match, asked)
    if found is None:
        return None
    score, reason = found
    kind: Kind = "supersedes" if is_later else "contradicts"
    newer, older = _quote(match.newer.text), _quote(match.older.text)
    return Decision(kind, _confidence(score), newer, older, reason)


def _find_change(match: _Match, asked: frozenset[str]) -> tuple[float, str] | None:
    """Return how sure it is that something changed, and what."""
    new, old = match.newer, match.older
    cue = new.cue
    score = _score(match, cue)
    changed = find_changed(new, old)
    rewrite = find_rewrite(new.tokens, old.tokens, is_announced=new.is_announced, asked=asked)
    if rewrite is not None:
        return max(score, _SAME_SENTENCE) + _SURE, f"{rewrite.older} became {rewrite.newer}"
    changing = _find_answer(match, asked) if asked else None
    if changed:
        value, former = min(changed, key=lambda pair: is_loose(pair[0]))
        score += 0.0 if is_loose(value) else 1.0
        if score >= _MIN_SCORE and _is_same_subject(match, cue):
            sure = 0.0 if changing is None else _SAME_SENTENCE + _SURE
            return max(score, sure), f"{former.text} became {value.text}"
    elif cue is not None and _is_replaced(match):
        return score, f"it says {cue!r}"
    ended = _find_ended(match)
    if ended is not None:
        return max(score, _SAME_SENTENCE) + _SURE, f"it says {ended!r}"
    if cue is not None and _is_said_to_change(new, old, cue):
        return max(score, _SAME_SENTENCE) + _SURE, f"it says {cue!r}"
    if changing is not None:
        return max(score, _SAME_SENTENCE) + _SURE, f"it says {changing!r}"
    return None


def _score(match: _Match, cue: str | None) -> float:
    """Score how sure it is that both statements are about the same and the newer one is current."""
    new, old = match.newer, match.older
    score = match.weight + _CONTEXT_WEIGHT * min(match.context, _MAX_CONTEXT)
    if cue is not None:
        score += 1.2
    elif find_present(new.text) is not None:
        score += 0.7
    if new.is_own and old.is_own:
        score += 1.0
    if cue is None and new.names and old.names and not new.names & old.names:
        score -= 2.0
    return score


def _is_same_subject(match: _Match, cue: str | None) -> bool:
    """Whether statements are about the same. Those about no one in particular share much of a
    sentence without that: of them, only near copies count, or what says itself that it replaces
    another.
    """
    is_own = match.newer.is_own and match.older.is_own
    if not is_own and cue is None and is_event(match.newer.text) and is_event(match.older.text):
        return False
    is_near = is_own or cue is not None or match.likeness >= _NEAR_COPY
    return is_near and match.share >= _MIN_SHARE and match.weight >= _MIN_WEIGHT


def _is_replaced(match: _Match) -> bool:
    """Whether a statement with words of change is about the older one, and says something else."""
    new, old = match.newer, match.older
    if match.share < _CHANGE_SHARE or match.weight < _CHANGE_WEIGHT:
        return False
    says_other = bool(new.details - old.details and old.details - new.details)
    is_near = match.weight >= _MUCH_WEIGHT and match.likeness >= _CHANGE_LIKENESS
    return says_other or is_near


def _is_said_to_change(new: Statement, old: Statement, cue: str) -> bool:
    """Whether a short statement says that its subject, and nothing else, has changed: "the API
    moved to 9000", "we no longer use npm".
    """
    subject = new.subject - find_subject(find_distinctive_words(cue))
    if not subject <= old.subject or not subject - everyday_stems():
        return False
    if subject == old.subject:
        return new.negations > old.negations
    numbers = [{value.value for value in each.values} for each in (new, old)]
    return len(numbers[0]) == len(numbers[1]) == 1 and numbers[0] != numbers[1]


def _find_ended(match: _Match) -> str | None:
    """Return the words by which the newer statement calls over what the older one says. Unless that
    is a name, both must have more in common.
    """
    new, old = match.newer, match.older
    for cue, ended in new.ended:
        if not ended <= old.stems or ended <= everyday_stems():
            continue
        is_name = any(name in cue.casefold() for name in old.names)
        shared = ((new.subject & old.subject) - ended - everyday_stems()) | (new.states & old.stems)
        if is_name or shared or (new.is_own and old.is_own):
            return cue
    return None


def _find_answer(match: _Match, asked: frozenset[str]) -> str | None:
    """Return the words by which the newer statement says that the answer has changed, if the older
    one answers the question, too.
    """
    new, old = match.newer, match.older
    known = asked & old.stems
    kept, lost = known & new.stems, known - new.stems
    if share_of(kept, asked) < _HALF or share_of(known, asked) <= _HALF:
        return None
    if not all(ended <= old.stems for _, ended in new.ended):
        return None  # what the newer one calls over is not in the older one
    found = find_changing(new.text)
    if found is None:
        return None
    cue, what = found
    subject = find_stems(what)
    is_same = bool(subject) or len(kept) > len(lost)
    is_old = len(subject & old.stems) > _HALF * len(subject) or not subject
    return cue if is_same and is_old else None


def find_changed(newer: Statement, older: Statement) -> list[tuple[Value, Value]]:
    """Return the values that differ and answer the same question, the newer first."""
    pairs = [(one, other) for one in newer.values for other in older.values if one.key == other.key]
    kept = {(one.key, one.value) for one, other in pairs if one.value == other.value}
    return [
        (one, other)
        for one, other in pairs
        if (one.key, one.value) not in kept and (other.key, other.value) not in kept
    ]


def _compare_wholes(newer: str, older: str, closeness: float | None) -> Decision | None:
    """Compare whole memories: they may say nearly the same, one a little more, or the opposite."""
    new, old = _statement(newer), _statement(older)
    if min(len(new.subject), len(old.subject)) < _MIN_STEMS:
        return None
    _, likeness = _share_subject(new, old)
    quotes = _quote(newer), _quote(older)
    is_negated = (new.negations > 0) != (old.negations > 0)
    if new.details == old.details and is_negated and likeness >= _NEAR:
        return Decision("contradicts", _confidence(3.0), *quotes, "one of them is negated")
    if is_negated:
        return None
    if new.details == old.details:
        near = max(likeness, closeness or 0.0)
        if likeness >= _NEAR or (closeness or 0.0) >= _CLOSE:
            return Decision("duplicate_of", round(near, 2), *quotes, "they say nearly the same")
    if old.subject < new.subject and old.details <= new.details:
        part = _weigh(old.subject, old.names) / _weigh(new.subject, new.names)
        if part >= _REFINED:
            return Decision("refines", round(part, 2), *quotes, "it says the same and more")
    return None


def _share_subject(new: Statement, old: Statement) -> tuple[float, float]:
    """Return the weight of the stems that two memories share, and its share of both together."""
    weight = _weigh(new.subject & old.subject, new.names)
    return weight, weight / max(_weigh(new.subject | old.subject, new.names | old.names), 1.0)


def _confidence(score: float) -> float:
    """From 0 to 1, rising with the score of the rules."""
    return round(score / (score + 2.0), 2)


def _quote(text: str) -> str:
    return text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…"
