"""The diagnostics on rankings small enough to count by eye."""

from __future__ import annotations

from recollect_bench.scores.diagnostics import (
    Change,
    GoldPlace,
    Legs,
    LegShare,
    changes,
    compute_leg_shares,
    render_side_by_side,
)
from recollect_bench.scores.metrics import score

FILLER = [f"f{number}" for number in range(1, 21)]


def test_leg_shares_count_hits_found_by_one_leg_only() -> None:
    gold = {"q1": {"a": 1, "d": 1}, "q2": {"e": 1}}
    legs = {
        "q1": {"lexical": ["a", "b", "c"], "dense": ["b", "d", "x"]},
        "q2": {"lexical": ["e"], "dense": [*FILLER, "e"]},
    }
    # x is not among the first ten; b and e are in both lists.
    ranking = {"q1": ["b", "a", "d", "c"], "q2": ["e", *FILLER[:5]]}
    assert compute_leg_shares(gold, ranking, legs) == [
        LegShare("lexical", only=2, only_relevant=1, median_rank=1, never=0, questions=2),
        LegShare("dense", only=6, only_relevant=1, median_rank=(2 + 21) / 2, never=0, questions=2),
    ]


def test_the_eleventh_hit_is_not_counted() -> None:
    legs = {"q": {"lexical": FILLER[:11]}}
    (share,) = compute_leg_shares({"q": {"f11": 1}}, {"q": FILLER[:11]}, legs)
    assert (share.only, share.only_relevant, share.median_rank) == (10, 0, 11)


def test_a_leg_that_never_finds_gold_has_no_median() -> None:
    gold = {"q1": {"a": 1, "c": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    # Of two gold documents in one list, the first counts.
    legs: Legs = {"q1": {"lexical": ["b"], "dense": ["b", "d", "a", "c"]}, "q2": {"dense": []}}
    lexical, dense = compute_leg_shares(gold, {}, legs)
    assert (lexical.median_rank, lexical.never) == (None, 3)
    assert (dense.median_rank, dense.never) == (3, 2)


def test_questions_won_and_lost_largest_change_first() -> None:
    gold = {name: {"a": 1, "b": 1} for name in ("same", "half", "whole", "worse", "half too")}
    before = {
        "same": ["a", "x"],
        "half": ["x"],
        "whole": ["x", "y"],
        "worse": ["a", "b"],
        "half too": [],
    }
    after = {
        "same": ["x", "a"],
        "half": ["a"],
        "whole": ["b", "x", "a"],
        "worse": ["x"],
        "half too": ["b"],
    }
    values = score(gold, before)["R@10"], score(gold, after)["R@10"]
    found = changes(gold, before, after, *values)
    assert [(change.question, change.before, change.after) for change in found.won] == [
        ("whole", 0, 1),
        ("half", 0, 0.5),
        ("half too", 0, 0.5),
    ]
    assert [(change.question, change.before, change.after) for change in found.lost] == [
        ("worse", 1, 0)
    ]
    assert found.equal == 1
    assert found.won[0] == Change(
        question="whole",
        before=0,
        after=1,
        first_before=("x", "y"),
        first_after=("b", "x", "a"),
        gold=(GoldPlace("a", None, 3), GoldPlace("b", None, 1)),
    )


def test_a_change_shows_the_first_ten_and_the_gold_where_it_is() -> None:
    before = {"q": [*FILLER[:11], "a"]}
    after = {"q": ["a", *FILLER[:11]]}
    (change,) = changes({"q": {"a": 1}}, before, after, {"q": 0.0}, {"q": 1.0}).won
    assert change.first_before == tuple(FILLER[:10])
    assert change.first_after == ("a", *FILLER[:9])
    assert change.gold == (GoldPlace("a", 12, 1),)


CHANGE = Change(
    question="q7",
    before=0,
    after=1,
    first_before=("x",),
    first_after=("a", "x"),
    gold=(GoldPlace("a", None, 1),),
)


def test_both_rankings_can_be_read_side_by_side() -> None:
    text = render_side_by_side(
        CHANGE,
        metric="R@10",
        names=("lexical", "rrf"),
        question="Where does Ann live?",
        texts={"a": "Ann moved\nto Rome.", "x": "word " * 100},
    )
    assert text.splitlines() == [
        "### q7: Where does Ann live?",
        "",
        "R@10 0.000 → 1.000. Gold:",
        "",
        "- a Ann moved to Rome.: rank none → 1",
        "",
        "| # | lexical | rrf |",
        "|---|---|---|",
        f"| 1 | x {'word ' * 15}word… | ✓ a Ann moved to Rome. |",
        f"| 2 |  | x {'word ' * 15}word… |",
    ]


def test_a_text_cannot_break_the_table() -> None:
    text = render_side_by_side(
        CHANGE,
        metric="R@10",
        names=("a|b", "c"),
        question="<b>?\n| x |",
        texts={"a": "one | two\r\n| three <script>"},
    )
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert all(row.count("|") == 4 for row in rows)
    assert "<" not in text


def test_without_texts_only_ids_are_shown() -> None:
    text = render_side_by_side(CHANGE, metric="R@10", names=("a", "b"), question="", texts={})
    assert "| 1 | x | ✓ a |" in text
