"""What the curator proposes for a set, and what accepting its proposals does to recall.

All documents are stored, then examined in order of time like new memories. Figures: the share of
the set's pairs that are proposed, the proposals per 1,000 memories, and for questions about a fact
that changed, how often the newer document ranks above the older one, before and after every
proposed `supersedes` is accepted. A document that is represented by another hit counts as found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from recollect.core.curation.proposals import RULES
from recollect.core.memory.links import SUPERSEDES
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.ports.curation import AskedModel
from recollect.usecases.curation.propose import CountedModel, ProposedPair, propose
from recollect.usecases.memory.change import link
from recollect.usecases.recall.recall import recall
from recollect_bench.data.datasets import EvaluationSet, Pair
from recollect_bench.runs.stage import OWNER, Progress, Stage
from recollect_bench.scores.metrics import score
from recollect_bench.scores.significance import Interval, interval

DEPTH: Final = 20
_DEADLINE_SCALE: Final = 30.0


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of recall on the set's own questions."""

    recall_at_10: float
    ndcg_at_10: float


@dataclass(frozen=True, slots=True)
class CurationReport:
    """The figures of one set. `newer_first` covers the questions that had both documents among the
    first twenty before; it is None if the set has no such questions. `asked` counts the calls to a
    language model, `dropped` those whose answer could not be used.
    """

    name: str
    decided_by: str
    memories: int
    pairs: int
    pairs_proposed: int
    duplicates: int
    duplicates_proposed: int
    proposals: int
    by_kind: Mapping[str, int]
    per_thousand: float
    asked: int
    dropped: int
    newer_first_before: Interval | None
    newer_first_after: Interval | None
    quality_before: Quality
    quality_after: Quality


@dataclass(frozen=True, slots=True)
class _Answer:
    """The documents that were shown, best first, and the same with those they stand for."""

    shown: tuple[str, ...]
    found: tuple[str, ...]


Answers = Mapping[str, _Answer]


async def curate(
    stage: Stage, seed: int, progress: Progress, model: AskedModel | None = None
) -> tuple[CurationReport, list[ProposedPair]]:
    """Measure one stored set and accept all proposals: those of the rules, and of a model about
    doubtful pairs. Recalls have generous deadlines and do not apply the rules themselves, so that
    the difference is due to the acceptances alone.
    """
    settings = replace(RecallSettings().scaled(_DEADLINE_SCALE), newer_first="off")
    stage = replace(stage, context=replace(stage.context, default_settings=settings))
    data, names = stage.data, stage.documents
    before = await _ask(stage, progress)
    calls = None if model is None else CountedModel(model)
    proposals = await _propose(stage, progress, calls)
    for proposal in proposals:
        if proposal.decision.kind == "supersedes":
            newer, older = str(proposal.newer.id), str(proposal.older.id)
            await link(stage.context, OWNER, newer, SUPERSEDES, older)
    after = await _ask(stage, progress)
    proposed = {frozenset((names[each.newer.id], names[each.older.id])) for each in proposals}
    updates = find_updates(data, before)
    report = CurationReport(
        data.name,
        RULES if calls is None else f"{RULES} and {calls.name}",
        len(data.documents),
        len(data.supersedes),
        _count(data.supersedes, proposed),
        len(data.duplicates),
        _count(data.duplicates, proposed),
        len(proposals),
        dict(Counter(proposal.decision.kind for proposal in proposals)),
        round(1000 * len(proposals) / len(data.documents), 1),
        0 if calls is None else calls.asked,
        0 if calls is None else calls.dropped,
        _measure_newer_first(updates, before, seed),
        _measure_newer_first(updates, after, seed),
        _measure_quality(data, before),
        _measure_quality(data, after),
    )
    return report, proposals


async def _ask(stage: Stage, progress: Progress) -> Answers:
    answers: dict[str, _Answer] = {}
    for number, question in enumerate(stage.data.questions, start=1):
        scope = EVERYWHERE if question.scope is None else Scope(project=question.scope)
        request = RecallRequest(question.text, limit=DEPTH, scope=scope)
        hits = (await recall(stage.context, OWNER, request)).hits
        shown = tuple(stage.documents[hit.memory.id] for hit in hits)
        ids = [id for hit in hits for id in (hit.memory.id, *hit.stands_for)]
        found = tuple(dict.fromkeys(stage.documents[id] for id in ids))
        answers[question.id] = _Answer(shown, found)
        progress(f"{stage.data.name}: asking", number, len(stage.data.questions))
    return answers


async def _propose(
    stage: Stage, progress: Progress, calls: CountedModel | None
) -> list[ProposedPair]:
    """Propose like a curator that examined every memory when it was stored."""
    found: list[ProposedPair] = []
    stored = await stage.context.store.get_many(OWNER, stage.documents.keys())
    memories = sorted(stored.values(), key=lambda memory: (memory.created_at, memory.id))
    for number, memory in enumerate(memories, start=1):
        found += await propose(stage.context, OWNER, memory, calls)
        progress(f"{stage.data.name}: examining", number, len(memories))
    return found


def find_updates(data: EvaluationSet, answers: Answers) -> dict[str, Pair]:
    """Find the questions that a newer document answers and that found both documents of a pair."""
    return {
        question: pair
        for question, labels in data.gold.items()
        for pair in data.supersedes
        if pair[0] in labels and set(pair) <= set(answers[question].shown)
    }


def _measure_newer_first(
    updates: Mapping[str, Pair], answers: Answers, seed: int
) -> Interval | None:
    if not updates:
        return None
    return interval([_is_newer_first(answers[id].shown, *updates[id]) for id in updates], seed)


def _is_newer_first(shown: Sequence[str], newer: str, older: str) -> float:
    places = {document: place for place, document in enumerate(shown)}
    return float(newer in places and places[newer] < places.get(older, len(shown)))


def _measure_quality(data: EvaluationSet, answers: Answers) -> Quality:
    values = score(data.gold, {id: answer.found for id, answer in answers.items()})
    return Quality(*(round(fmean(values[metric].values()), 4) for metric in ("R@10", "nDCG@10")))


def _count(pairs: Sequence[Pair], proposed: Collection[frozenset[str]]) -> int:
    return sum(frozenset(pair) in proposed for pair in pairs)
