"""The questions that each change won and lost, side by side, for a person to judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect_bench.scores.diagnostics import Change, render_side_by_side
from recollect_bench.scores.scoring import Scored
from recollect_bench.scores.summary import CHANGES_BY, compare_runs

SHOWN: Final = 20
"""How many of each are shown, the largest changes first: more would not be read."""


def render_changes(found: Sequence[Scored], against: str) -> str:
    """Render Markdown that quotes the evaluation data: publish it only where the data may go."""
    return "\n".join(line for scored in found for line in _render_set(scored, against))


def _render_set(scored: Scored, against: str) -> Iterator[str]:
    for name in scored.runs:
        if name == against or against not in scored.runs:
            continue
        moved = compare_runs(scored, against, name)
        yield f"# {scored.data.name}: from {against} to {name}\n"
        yield (
            f"By {CHANGES_BY}: {len(moved.won)} won, {len(moved.lost)} lost, {moved.equal} equal.\n"
        )
        for what, changes in (("Won", moved.won), ("Lost", moved.lost)):
            shown = f", the {SHOWN} largest of {len(changes)}" if len(changes) > SHOWN else ""
            yield f"## {what}{shown}\n"
            yield from _render_sides(scored, changes[:SHOWN], (against, name))


def _render_sides(
    scored: Scored, changes: Sequence[Change], names: tuple[str, str]
) -> Iterator[str]:
    questions = {question.id: question.text for question in scored.data.questions}
    texts = {document.id: document.content for document in scored.data.documents}
    for change in changes:
        question = questions[change.question]
        yield render_side_by_side(
            change, metric=CHANGES_BY, names=names, question=question, texts=texts
        )
