"""What keeps a memory out of one leg, in words that fit the leg and the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args
from uuid import UUID

import pytest
from tests.strategies import MOMENT

from recollect.core.memory.memory import Memory
from recollect.core.recall.explain import LegFacts, ObstacleKind
from recollect.core.recall.explain_legs import leg_obstacle
from recollect.core.recall.request import LegName, Reason, RecallRequest
from recollect.core.recall.settings import RecallSettings

MEMORY = Memory(
    id=UUID(int=1), owner="me", content="staging is frozen", created_at=MOMENT, updated_at=MOMENT
)
SECRET = replace(MEMORY, is_sensitive=True)
RAN = LegFacts("ran", 1.0, 50, score=0.5, rank=1, searched=50)
NOT_FOUND = LegFacts("ran", 1.0, 50)

LEG_OBSTACLES: list[tuple[LegName, LegFacts, Memory, ObstacleKind | None, str]] = [
    ("lexical", RAN, MEMORY, None, ""),
    ("lexical", replace(RAN, rank=50), MEMORY, None, ""),
    ("lexical", replace(RAN, rank=51), MEMORY, "below_depth", "narrower scope"),
    ("lexical", replace(RAN, rank=1_001), MEMORY, "below_depth", "narrower scope"),
    ("lexical", replace(RAN, rank=None), MEMORY, "below_floor", "more precisely"),
    ("lexical", NOT_FOUND, MEMORY, "no_match", "expanded keywords"),
    ("graph", NOT_FOUND, MEMORY, "no_match", "Name what it mentions"),
    ("dense", NOT_FOUND, MEMORY, "not_embedded", "`recollect worker`"),
    (
        "dense",
        replace(NOT_FOUND, parked="it choked"),
        MEMORY,
        "parked",
        "`recollect worker --retry`",
    ),
    ("dense", replace(NOT_FOUND, parked=""), MEMORY, "parked", "`recollect worker --retry`"),
    ("lexical", NOT_FOUND, SECRET, "no_match", "expanded keywords"),
    ("dense", NOT_FOUND, SECRET, "sensitive", "with words that it contains"),
    ("graph", NOT_FOUND, SECRET, "sensitive", "with words that it contains"),
    # fixing the leg would not help
    ("graph", LegFacts("skipped", 1.0, 50), SECRET, "sensitive", "with words that it contains"),
    ("dense", LegFacts("failed", 1.0, 50), SECRET, "sensitive", "with words that it contains"),
    # a forgotten memory is in no leg, and that is reported once for all
    ("lexical", NOT_FOUND, replace(MEMORY, deleted_at=MOMENT), None, ""),
    ("dense", LegFacts("skipped", 0.0, 50), MEMORY, "leg_skipped", "settings set dense_weight"),
    ("dense", LegFacts("absent", 1.0, 50), MEMORY, "leg_absent", "doctor"),
    ("dense", LegFacts("late", 1.0, 50), MEMORY, "leg_late", "again"),
    ("dense", LegFacts("failed", 1.0, 50, note="gone"), MEMORY, "leg_failed", "doctor"),
]


@pytest.mark.parametrize(("leg", "facts", "memory"), [row[:3] for row in LEG_OBSTACLES])
def test_no_remedy_names_status_which_shows_the_local_store_only(
    leg: LegName, facts: LegFacts, memory: Memory
) -> None:
    found = leg_obstacle(leg, facts, memory, RecallRequest("q"))
    assert found is None or "status" not in found.remedy


@pytest.mark.parametrize(("leg", "facts", "memory", "kind", "remedy"), LEG_OBSTACLES)
def test_leg_obstacle_says_what_keeps_a_memory_out(
    leg: LegName, facts: LegFacts, memory: Memory, kind: ObstacleKind | None, remedy: str
) -> None:
    found = leg_obstacle(leg, facts, memory, RecallRequest("q"))
    if kind is None:
        assert found is None
        return
    assert found is not None
    assert (found.kind, found.leg) == (kind, leg)
    assert remedy in found.remedy
    assert (facts.note or facts.parked or "") in found.what


def test_leg_obstacle_suggests_more_depth_only_where_it_helps() -> None:
    facts = replace(RAN, rank=63)

    def remedy(place: int | None) -> str:
        found = leg_obstacle("lexical", facts, MEMORY, RecallRequest("q", limit=10), place)
        assert found is not None
        return found.remedy

    deeper = "Ask more precisely, or look deeper"
    assert remedy(10) == f"{deeper}: `recollect settings set depth 63`."
    assert remedy(11) == (
        f"{deeper}, `recollect settings set depth 63`, and ask with a limit of 11 or more."
    )
    assert "limit of 63" in remedy(63)
    # a limit above the depth asks the legs for more, which may change the place
    assert remedy(64) == "Ask more precisely, or within a narrower scope."
    assert remedy(None) == remedy(64)  # it would not be found there, or that was not tried


DECLINED: dict[Reason, tuple[LegName, str]] = {
    "past": ("dense", "Omit --as-of."),
    "nothing_embedded": ("dense", "`recollect worker`"),
    "sensitive_query": ("dense", "local model"),
    "unsent": ("graph", "`recollect sync`"),
    "no_concept": ("graph", "Name someone or something"),
    "unknown_concept": ("graph", "`recollect graph show NAME`"),
    "other_order": ("graph", "Sort by relevance."),
    "nothing_found": ("graph", "words that some memory contains"),
    "being_read": ("graph", "Ask again in a moment."),
}


@pytest.mark.parametrize("reason", get_args(Reason))
@pytest.mark.parametrize("status", ["skipped", "absent"])
def test_leg_obstacle_has_a_remedy_for_each_reason_to_decline(
    status: Literal["skipped", "absent"], reason: Reason
) -> None:
    leg, remedy = DECLINED[reason]
    facts = LegFacts(status, 1.0, 50, note="for a reason", reason=reason)
    found = leg_obstacle(leg, facts, MEMORY, RecallRequest("q"))
    assert found is not None
    assert found.kind == f"leg_{status}"
    assert found.what.endswith(": for a reason")
    assert remedy in found.remedy


@pytest.mark.parametrize("leg", get_args(LegName))
def test_leg_obstacle_says_where_a_weight_of_0_comes_from(leg: LegName) -> None:
    default = RecallSettings().weights()[leg]
    facts = LegFacts("skipped", 0.0, 50)
    by_settings = leg_obstacle(leg, facts, MEMORY, RecallRequest("q"))
    by_request = leg_obstacle(leg, facts, MEMORY, RecallRequest("q", weights={leg: 0.0}))
    assert by_settings is not None
    assert by_request is not None
    assert by_settings.remedy.endswith(f"`recollect settings set {leg}_weight {default:g}`.")
    assert f"--weight {leg}={default:g}" in by_request.remedy
    assert "settings" not in by_request.what + by_request.remedy
