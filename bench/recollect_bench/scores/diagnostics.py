"""Why one configuration is better: what each leg adds, and which questions a change won and lost.

A mean hides that a change helps some questions and harms others. These figures show where to look,
and `render_side_by_side` shows one question for a person to judge.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from recollect_bench.data.datasets import Gold
from recollect_bench.scores.metrics import TOP, Ranking, relevant

Legs = Mapping[str, Mapping[str, Sequence[str]]]
"""Question id to leg to the documents of its whole list, best first."""

# Enough characters to recognize a text.
_MAX_SHOWN: Final = 80
# Values of a metric that differ by less than this are equal.
_TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class LegShare:
    """What one leg contributed, over all questions with gold.

    `only` counts the hits among the first ten that are in this leg's list and no other's, and
    `only_relevant` those of them that are gold. `median_rank` is that of the first gold document in
    the leg's list, over the questions where there is one; `never` counts the other questions.
    """

    leg: str
    only: int
    only_relevant: int
    median_rank: float | None
    never: int
    questions: int


@dataclass(frozen=True, slots=True)
class GoldPlace:
    """The ranks of a gold document in the two rankings; None if it is missing there."""

    document: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Change:
    """One question under two configurations: the metric, the first ten, the gold's places."""

    question: str
    before: float
    after: float
    first_before: tuple[str, ...]
    first_after: tuple[str, ...]
    gold: tuple[GoldPlace, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """Questions whose metric rose and fell, the largest change first; `equal` counts the rest."""

    won: tuple[Change, ...]
    lost: tuple[Change, ...]
    equal: int


def compute_leg_shares(gold: Gold, ranking: Ranking, legs: Legs) -> list[LegShare]:
    """Compute what each leg contributed to the ranking, in order of the legs' first appearance."""
    names = dict.fromkeys(name for lists in legs.values() for name in lists)
    return [_share(name, gold, ranking, legs) for name in names]


def _share(name: str, gold: Gold, ranking: Ranking, legs: Legs) -> LegShare:
    only = only_relevant = 0
    ranks: list[int] = []
    for question, labels in gold.items():
        lists, answers = legs.get(question, {}), relevant(labels)
        others = {item for leg, found in lists.items() if leg != name for item in found}
        mine = set(lists.get(name, ())) - others
        brought = mine.intersection(ranking.get(question, ())[:TOP])
        only += len(brought)
        only_relevant += len(brought & answers)
        ranks += _ranks(lists.get(name, ()), answers)[:1]
    return LegShare(
        leg=name,
        only=only,
        only_relevant=only_relevant,
        median_rank=median(ranks) if ranks else None,
        never=len(gold) - len(ranks),
        questions=len(gold),
    )


def _ranks(documents: Sequence[str], answers: set[str]) -> list[int]:
    return [rank for rank, document in enumerate(documents, start=1) if document in answers]


def changes(
    gold: Gold,
    before: Ranking,
    after: Ranking,
    values_before: Mapping[str, float],
    values_after: Mapping[str, float],
) -> Changes:
    """Compare two rankings by one metric, question by question."""
    won: list[Change] = []
    lost: list[Change] = []
    for question, labels in gold.items():
        old, new = values_before[question], values_after[question]
        if abs(new - old) > _TOLERANCE:
            ranked = before.get(question, ()), after.get(question, ())
            change = Change(
                question=question,
                before=old,
                after=new,
                first_before=tuple(ranked[0][:TOP]),
                first_after=tuple(ranked[1][:TOP]),
                gold=tuple(
                    GoldPlace(document, _rank(ranked[0], document), _rank(ranked[1], document))
                    for document in sorted(relevant(labels))
                ),
            )
            (won if new > old else lost).append(change)
    # Sorting is stable: equal changes keep the gold's order, so two runs list them the same way.
    won.sort(key=lambda change: change.before - change.after)
    lost.sort(key=lambda change: change.after - change.before)
    return Changes(tuple(won), tuple(lost), len(gold) - len(won) - len(lost))


def _rank(documents: Sequence[str], document: str) -> int | None:
    return documents.index(document) + 1 if document in documents else None


def render_side_by_side(
    change: Change,
    *,
    metric: str,
    names: tuple[str, str],
    question: str,
    texts: Mapping[str, str],
) -> str:
    """Render one question in Markdown: its text, its gold, and the first ten of both rankings, with
    gold marked ✓.

    A document that is not in `texts` is shown by its id alone, so that a report need not contain a
    person's memories.
    """
    marked = {place.document for place in change.gold}
    lines = [
        f"### {_escape(change.question)}: {_escape(question)}",
        "",
        f"{metric} {change.before:.3f} → {change.after:.3f}. Gold:",
        "",
        *(
            f"- {_show(place.document, texts)}: rank {place.before or 'none'} → "
            f"{place.after or 'none'}"
            for place in change.gold
        ),
        "",
        f"| # | {_escape(names[0])} | {_escape(names[1])} |",
        "|---|---|---|",
    ]
    for row in range(max(len(change.first_before), len(change.first_after))):
        cells = (
            _cell(first[row : row + 1], marked, texts)
            for first in (change.first_before, change.first_after)
        )
        lines.append(f"| {row + 1} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(documents: Sequence[str], marked: set[str], texts: Mapping[str, str]) -> str:
    return "".join(
        ("✓ " if document in marked else "") + _show(document, texts) for document in documents
    )


def _show(document: str, texts: Mapping[str, str]) -> str:
    text = " ".join(texts.get(document, "").split())
    short = text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
    return _escape(f"{document} {short}".strip())


def _escape(text: str) -> str:
    """Put the text on one line, and escape what would end a table's cell or begin a tag."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "&#124;")
