"""The answer to a recall: the hits, why each is there, and the outcome of each leg and stage."""

from __future__ import annotations

from dataclasses import fields
from types import GenericAlias
from typing import Any, Final

from pydantic import BaseModel

from recollect.core.memory.links import Pointer
from recollect.core.recall.request import (
    Hit,
    LegName,
    LegPlace,
    LegReport,
    MatchedWords,
    NewerThan,
    Passage,
    Recollection,
    RerankPlace,
    RerankReport,
    WordMatch,
)
from recollect.wire.codec import codec
from recollect.wire.memory import MEMORY
from recollect.wire.values import WITH_GLOBAL

LEG_PLACE: Final = codec(
    LegPlace,
    "LegPlaceOut",
    """Where one leg placed the memory, and what that added to its fused score. `path` is the
    graph's: ids of memories and names of concepts that led to it.
    """,
    without={"passage": None},
    later=("path",),
    rank={"description": "Null if the graph walk did not reach the memory."},
    evidence={
        "description": "How much the match means, from 0 to 1: the share of the query's information"
        " that the memory's words carry, or how far its cosine lies above that of unrelated texts."
    },
)
LEG_REPORT: Final = codec(
    LegReport,
    "LegReportOut",
    """The outcome of one leg in this recall.""",
    later=("reason",),
    reason={"description": "Why the leg had nothing to contribute to this query."},
)
WORD_MATCH: Final = codec(
    WordMatch,
    "WordMatchOut",
    """A word of the query, and which characters of the memory's content match it best: from `start`
    to before `end`, counted in Unicode code points. `similarity` is a cosine, `weight` the word's
    share of the query.
    """,
)
RERANK_PLACE: Final = codec(
    RerankPlace,
    "RerankPlaceOut",
    """How the second stage scored a hit, and its place before. `words` are those that late
    interaction compared, the most telling first.
    """,
    later=("words",),
)
RERANK_REPORT: Final = codec(
    RerankReport,
    "RerankReportOut",
    """The outcome of the second stage; unless it ran, the fused order stays.""",
    later=("stage",),
)
MATCHED_WORDS: Final = codec(
    MatchedWords,
    "MatchedWordsOut",
    """How many words of the query the memory has, in any of their forms and without stop words.""",
)
POINTER: Final = codec(
    Pointer,
    "PointerOut",
    """A memory that a hit links to without including it; `is_dangling` if it does not exist.""",
)
PASSAGE: Final = codec(
    Passage,
    "PassageOut",
    """The part of a long text that matched: its characters from `start` up to `end`.""",
)
NEWER_THAN: Final = codec(
    NewerThan,
    "NewerThanOut",
    """The older hit that this one updates, and how: "8000 became 9000".""",
)
EXPLANATION: Final[Any] = codec(
    Hit,
    "ExplanationOut",
    """Why a hit is where it is: `score = fused × prior` when sorted by relevance. `rerank` is set
    for hits that the second stage judged, which are ordered by its score.
    """,
    only=("fused", "prior", "legs", "rerank"),
    read=lambda _, values: values,
)


def _write_hit(hit: Hit) -> dict[str, object]:
    return {"explanation": hit, **{each.name: getattr(hit, each.name) for each in fields(hit)}}


def _read_hit(found: Any, values: dict[str, Any]) -> Hit:  # noqa: ANN401  # its shape
    why = found.explanation
    values |= {"fused": found.score} if why is None else EXPLANATION.read(why)
    # A client asks for explanations, but never to count words.
    return Hit(**values | {"matched_words": None})


HIT: Final = codec(
    Hit,
    "HitOut",
    """A recalled memory. It `stands_for` memories that it supersedes and that were found; with
    `ranked_as`, the score and its explanation are that memory's. `attached` are the memories that
    resolve it; `pointers` name other link targets.
    """,
    without={"fused": 0.0, "prior": 1.0, "legs": {}, "rerank": None},
    later=(
        "stands_for",
        "ranked_as",
        "attached",
        "pointers",
        "duplicates",
        "passage",
        "newer_than",
        "matched_words",
        "confidence",
    ),
    write=_write_hit,
    read=_read_hit,
    memory={"of": MEMORY},
    confidence={
        "description": "How likely it answers the query, from 0 to 1; it means the same for every "
        "query. By relevance, no hit is surer than one before it.",
    },
    score={"description": "What it is ranked by: comparable only within this answer."},
    explanation={"type": EXPLANATION.shape | None},
    attached={"of": MEMORY},
    duplicates={"description": "Memories with the same text that were found, too."},
    passage={"description": "The part of a long text that matched."},
    newer_than={"description": "An older hit that it updates, and therefore precedes."},
    matched_words={"description": "With `explain`, how many words of the query it has."},
)


def _read_recollection(found: Any, values: dict[str, Any]) -> Recollection:  # noqa: ANN401  # its shape
    legs = {name: LEG_REPORT.read(report) for name, report in (found.legs or {}).items()}
    return Recollection(**values | {"legs": legs})


RECOLLECTION: Final = codec(
    Recollection,
    "RecollectionOut",
    """The answer to a recall, best hit first. `degraded` lists legs that should have answered and
    did not; `legs` reports on every leg, and is left out unless the recall is explained. `rerank`
    reports on the second stage if it is on. `note` says if the answer came from somewhere else than
    requested.
    """,
    flat=("scope.project", "scope.with_global"),
    later=("note", "hint", "project", "with_global"),
    read=_read_recollection,
    hits={"of": HIT},
    degraded={"type": list[LegName]},
    legs={"type": GenericAlias(dict, (LegName, LEG_REPORT.shape)) | None},
    hint={"description": "How to find more, if recall uses words only."},
    is_weak={"type": bool, "default": False, "description": "No hit is likely to answer."},
    project={"description": "The searched project, in full."},
    with_global={"description": WITH_GLOBAL},
)


def to_shape(found: Recollection, *, explain: bool) -> BaseModel:
    """Return the answer, with or without its explanations."""
    shape: Any = RECOLLECTION.to_shape(found)
    if not explain:
        hits = [hit.model_copy(update={"explanation": None}) for hit in shape.hits]
        shape = shape.model_copy(update={"hits": hits, "legs": None})
    answer: BaseModel = shape
    return answer
