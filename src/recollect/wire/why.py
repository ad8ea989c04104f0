"""Why a memory is or is not recalled, as JSON."""

from __future__ import annotations

from typing import Final

from recollect.core.recall.explain import Obstacle, WhyLeg, WhyReport
from recollect.wire.codec import codec
from recollect.wire.memory import MEMORY
from recollect.wire.recall import RERANK_PLACE, RERANK_REPORT

OBSTACLE: Final = codec(
    Obstacle,
    "ObstacleOut",
    """Something that kept the memory out, or out of one leg, and what would remove it.""",
)
WHY_LEG: Final = codec(
    WhyLeg,
    "WhyLegOut",
    """What one leg says about the memory.""",
    flat=("facts",),
    later=("reason", "parked"),
    depth={"description": "How many results recall requests from this leg."},
    score={"description": "Null if the leg does not find the memory."},
    rank={
        "description": "Down to 10,000; for a memory that is not allowed in, the rank it would "
        "have. Null if it is not found, or if the leg stops before it."
    },
    searched={"description": "How many results of the leg were checked."},
    contribution={"description": "What the leg adds to the fused score."},
    reason={"description": "Why the leg had nothing to contribute to this query."},
    parked={
        "description": "The error with which its text failed to be embedded too often, if it did."
    },
)
WHY: Final = codec(
    WhyReport,
    "WhyOut",
    """Why the memory is or is not recalled. `place` is its place in the whole order, or the place
    it would have if allowed in; null if no leg finds it within its depth. A memory that
    `stands_for` others is recalled in the place of the best of them; `superseded_by` is returned in
    the memory's place. `rerank` is how the second stage scored it, `second_stage` the outcome of
    that stage if it is on. `moved` says in a sentence that it is shown before a memory that it
    updates, or after one that updates it. `note` says if the answer came from somewhere else than
    requested.
    """,
    later=("stands_for", "superseded_by", "rerank", "second_stage", "moved", "note"),
    memory={"of": MEMORY},
    kept_out={"description": "Empty when the memory is recalled."},
    rerank={"of": RERANK_PLACE},
    second_stage={"of": RERANK_REPORT},
)
