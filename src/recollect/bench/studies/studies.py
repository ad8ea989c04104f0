"""The questions that the benchmark settles, each as a value: what is compared, and what came of it.

`recollect bench study` measures them and writes `docs/benchmark.md`. The figures come from the run;
the verdict is written by a person who read them, and stands here beside the question so that both
change together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from recollect.bench.runs.configs import Config, parse_configs
from recollect.bench.scores.report import OVERALL
from recollect.core.errors import InvalidInput

Plot = Literal["sets", "strata", "sweep", "latency", "tradeoff"]


@dataclass(frozen=True, slots=True)
class Study:
    """`configs` is written as on the command line, and each is compared with `baseline`.

    Tables show `metrics` in `strata`, for the configurations in `rows`; none named are all of them,
    and so it is with `sets`. The plot shows the first metric. With `is_timed` recalls are timed.
    """

    slug: str
    title: str
    question: str
    configs: str
    baseline: str
    verdict: str
    metrics: tuple[str, ...] = ("R@10", "nDCG@10")
    strata: tuple[str, ...] = (OVERALL,)
    sets: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    plot: Plot = "sets"
    limits: tuple[str, ...] = ()
    is_timed: bool = False

    def parsed(self) -> list[Config]:
        return parse_configs(self.configs)


_EXACT: Final = "rule:exact"
_PARAPHRASE: Final = "rule:paraphrase"
_MULTI_HOP: Final = "rule:multi-hop"

STUDIES: Final[tuple[Study, ...]] = (
    Study(
        slug="fusion",
        title="Fusion against its own legs",
        question="Is the fused order better than that of either leg alone, and which fusion is? "
        "`convex:dense_weight=2.3` gives the dense leg the share of 0.7 that its authors favour.",
        configs="default,lexical,dense,rrf,rrf:rrf_k=10,convex,convex:dense_weight=2.3",
        baseline="default",
        verdict="Standing out is the default. On the mean of the sets it is ahead of every other "
        "fusion tried in R@10 and in nDCG@10, and of both legs; on no set is it "
        "significantly below the better of its legs. Reciprocal rank with k = 60 and "
        "convex combination over lists of 50 fall ten points below the lexical leg on "
        "LoCoMo, where the dense leg is weak.",
        strata=(OVERALL, _EXACT, _PARAPHRASE, _MULTI_HOP),
        plot="strata",
        is_timed=True,
    ),
    Study(
        slug="rrf-k",
        title="The constant of reciprocal rank",
        question="How much does k matter, from 1 to 100, at the depth of 50 it is usually used at?",
        configs="default,rrf:rrf_k=1|2|5|10|20|60|100",
        baseline="default",
        verdict="A small k is much better than the usual 60, which costs 3.4 points of R@10 and "
        "2.6 of nDCG@10 against k = 2. At its best k reciprocal rank finds as much as "
        "standing out within the interval, but orders it worse: 2.0 points of nDCG@10.",
        plot="sweep",
    ),
    Study(
        slug="weights",
        title="The weight of the dense leg",
        question="What is the best fixed weight for each set, and what does one weight for all "
        "sets cost? Standing out weighs the legs anew for each question, without labels; does it "
        "beat the best fixed weights?",
        configs="default,default:dense_weight=0.3|0.6|0.85|1.2|2,"
        "convex:dense_weight=0.25|0.5|1|2.3|4,rrf:rrf_k=10:dense_weight=0.25|0.5|1|2",
        baseline="default",
        verdict="No fixed weight of convex combination or reciprocal rank comes near on all sets: "
        "the best of them are 1.7 and 0.7 points of R@10, and 2.0 and 2.6 of nDCG@10, "
        "below standing out, which weighs the legs for each question by how sure each is. "
        "Its own weight hardly matters between 0.6 and 1.2.",
        plot="sweep",
    ),
    Study(
        slug="depth",
        title="How deep the legs are asked",
        question="What do longer lists bring, and which fusion can use them?",
        configs="default,default:depth=20|50|100|200,rrf:rrf_k=10:depth=20|50|100|200,"
        "convex:dense_weight=2.3:depth=20|50|100|200",
        baseline="default",
        verdict="A hundred. Standing out gains 0.4 of a point in R@10 and in nDCG@10 from 50 to "
        "100 and nothing more at 200; reciprocal rank hardly notices; convex combination "
        "needs all the depth it can get, because what a list leaves out counts as "
        "nothing.",
        plot="sweep",
    ),
    Study(
        slug="vote",
        title="The vote of standing out",
        question="How much should it count that a leg found a memory at all?",
        configs="default,default:vote=0|3|6|9|12|20",
        baseline="default",
        verdict="Six. Anything from 0 to 9 is the same within the intervals on the mean of the "
        "sets; the vote matters where both legs find the answer but neither is sure "
        "(SciFact), and from 12 on it begins to do harm.",
        strata=(OVERALL, _PARAPHRASE),
        plot="sweep",
    ),
    Study(
        slug="champions",
        title="Sure places for each leg's first",
        question="Does it pay to keep each leg's first few among the first ten, and how many?",
        configs="default,default:champions=0|1|2|3|4,convex:dense_weight=2.3:champions=0|3",
        baseline="default",
        verdict="No. Standing out already keeps what a leg is sure of: one to four sure places "
        "move the mean by at most 0.2 of a point. Convex combination gains 4.3 points of "
        "R@10 from three, and is then still behind in nDCG@10.",
        strata=(OVERALL, _PARAPHRASE),
        plot="sweep",
    ),
    Study(
        slug="lexical",
        title="The lexical leg",
        question="Plain `ts_rank`, our ranking by rarity, SQLite's FTS5, and BM25 from an outside "
        "library as the yardstick: which finds best by words alone?",
        configs="lexical,local-fts,bm25s",
        baseline="lexical",
        verdict="The ranking by rarity is ahead of plain `ts_rank` by 12.5 points of R@10 and "
        "14.0 of nDCG@10, and ahead of BM25 by 1.6 and 1.7. SQLite's FTS5 is within a "
        "point of it on the mean; on long sessions and on MuSiQue it is a little better.",
        strata=(OVERALL, _EXACT),
        limits=("Plain `ts_rank` was removed after this measurement.",),
    ),
    Study(
        slug="exact-bonus",
        title="The exact-match bonus",
        question="Is fusion below the lexical leg where a question holds the answer's words, and "
        "does the bonus repair that?",
        configs="lexical,default,default:exact_bonus=0.1|0.25|0.5",
        baseline="lexical",
        verdict="No bonus. On LoCoMo's exact questions fusion is 2.0 points of nDCG@10 below the "
        "lexical leg, and on no other set significantly below it; the bonus repairs "
        "nothing there, because hardly any question stands in the answer word for word. "
        "The aim of not being below on any set is missed on LoCoMo.",
        metrics=("nDCG@10", "RR", "R@10"),
        strata=(_EXACT, OVERALL),
    ),
    Study(
        slug="importance",
        title="The importance prior",
        question="The sets have no importance, so it is drawn: `noise` means nothing, `signal` is "
        "higher for memories that some question asks for. How strong may the prior be before "
        "meaningless importance does harm, and what does it gain where importance means something?",
        configs="default,default:importance=noise:prior_strength=0.1|0.3|0.6|1,"
        "default:importance=signal:prior_strength=0.1|0.3|0.6|1,"
        "rrf:importance=noise:prior_strength=0.3,rrf:importance=signal:prior_strength=0.3,rrf",
        baseline="default",
        verdict="The strength stays at 0.3. Importance that means nothing costs 0.4 of a point of "
        "nDCG@10 on the mean, which the intervals cannot tell from nothing (1.3 on "
        "SciFact, which they can); importance that means something gains 1.3. From 0.6 on "
        "meaningless importance does clear harm. Under reciprocal rank a strength of 0.3 "
        "costs 13 points.",
        sets=("hotpot_train100", "locomo", "scifact"),
    ),
    Study(
        slug="dense-window",
        title="What is embedded: a turn, or a turn between its neighbours",
        question="A turn of a conversation says little alone. Does embedding it between the turns "
        "before and after it help?",
        configs="default,default:embedded=window,dense,dense:embedded=window",
        baseline="default",
        verdict="It helps a great deal: 5.3 points of R@10, and half as much again on "
        "paraphrases. What came of it helps more, and needs no turn that is not there yet: a "
        "short turn is now embedded with the short ones before it (ADR 0029), by which R@10 of "
        "both legs on LoCoMo rises from 65.5 to 73.3.",
        sets=("locomo",),
        strata=(OVERALL, _PARAPHRASE),
    ),
    Study(
        slug="dense-title",
        title="What is embedded: with or without the title",
        question="Does the dense leg profit from the title that stands above a text?",
        configs="default,default:embedded=text,dense,dense:embedded=text",
        baseline="default",
        verdict="With it: without their titles texts lose 0.7 of a point of nDCG@10 after fusion, "
        "and 1.8 in the dense leg alone.",
        sets=("2wiki_train500", "hotpot_train100", "musique_train100_openie"),
        limits=(
            "Expanded keywords are left out: no public set has any, and made-up ones prove little.",
        ),
    ),
    Study(
        slug="embedder",
        title="The embedding model",
        question="all-MiniLM-L6-v2 in 8-bit and in full precision, and the larger "
        "all-mpnet-base-v2: what does quality cost in time?",
        configs="default,default:embedder=minilm-fp32,default:embedder=mpnet,"
        "dense,dense:embedder=minilm-fp32,dense:embedder=mpnet",
        baseline="default",
        verdict="The small model in 8 bits is the default: full precision gains nothing. The "
        "large one gains 5.1 points of R@10 on LoCoMo and little elsewhere, for up to two "
        "and a half times the time of a recall.",
        sets=("hotpot_train100", "locomo", "musique_train100_openie"),
        plot="tradeoff",
        is_timed=True,
    ),
    Study(
        slug="graph",
        title="The concept graph",
        question="Lexical and dense fixed, graph varied: what does a walk over the concepts that "
        "memories share add, how far should it go, and does it do harm where one memory answers? "
        "Concepts are found by rules alone.",
        configs="base,default,default:graph_weight=0.5|1|3",
        baseline="base",
        verdict="It is on: R@10 gains 19.5 points on 2Wiki, 6.2 on MuSiQue and 5.0 on HotpotQA, "
        "and on the sets of single facts and of chats neither measure is lower. Two hops by a "
        "recursive query do as well on the first three, better on LoCoMo and clearly worse on "
        "LongMemEval's turns.",
        strata=(OVERALL, _EXACT, _MULTI_HOP),
        limits=(
            (
                "The strata of exact questions are too small to show equivalence to within a "
                "point: on SciFact's, R@10 is 0.7 lower, in one question of 140."
            ),
            "An LLM's triples (`default:graph=given`) are measured in the ADR 0024, not here.",
            "The walk by a recursive query was removed after this measurement.",
        ),
    ),
)


def chosen_studies(studies: Sequence[Study], only: str | None) -> list[Study]:
    """The studies that a comma-separated list of slugs names, in their own order; else all."""
    if only is None:
        return list(studies)
    wanted = [slug.strip() for slug in only.split(",")]
    known = [study.slug for study in studies]
    unknown = [slug for slug in wanted if slug not in known]
    if unknown:
        raise InvalidInput(
            f"there is no study named {unknown[0][:60]!r}",
            field="--only",
            remedy=f"Choose from {', '.join(known)}.",
        )
    return [study for study in studies if study.slug in wanted]
