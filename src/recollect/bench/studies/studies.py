"""The questions the benchmark answers: what is compared, and the verdict.

`recollect bench study` measures them and writes `docs/benchmark.md`. The figures come from the run.
The verdict is written by someone who read them, and is kept next to the question so that both
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
    """One comparison: `configs`, as on the command line, each compared with `baseline`.

    Tables show `metrics` in `strata` for the configurations in `rows`. Empty `rows` or `sets` mean
    all. The plot shows the first metric. With `is_timed`, recalls are timed. With `stores_of`, the
    study is measured on small stores of these sizes, drawn from its sets.
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
    stores_of: tuple[int, ...] = ()

    def parsed(self) -> list[Config]:
        return parse_configs(self.configs)


_EXACT: Final = "rule:exact"
_PARAPHRASE: Final = "rule:paraphrase"
_MULTI_HOP: Final = "rule:multi-hop"

STUDIES: Final[tuple[Study, ...]] = (
    Study(
        slug="fusion",
        title="Fusion compared with each leg alone",
        question="Does fusion rank better than either leg alone, and which fusion is best? "
        "`convex:dense_weight=2.3` gives the dense leg a share of 0.7, as recommended by its "
        "authors.",
        configs="default,lexical,dense,rrf,rrf:rrf_k=10,convex,convex:dense_weight=2.3",
        baseline="default",
        verdict="Standout fusion is the default. On the mean of the sets it beats both legs and "
        "every other fusion in R@10 and nDCG@10; on no set is it significantly worse than the "
        "better of its legs. Reciprocal rank fusion (RRF) with k = 60 and convex combination over "
        "lists of 50 fall ten points below the lexical leg on LoCoMo, where the dense leg is "
        "weak.",
        strata=(OVERALL, _EXACT, _PARAPHRASE, _MULTI_HOP),
        plot="strata",
        is_timed=True,
    ),
    Study(
        slug="small-stores",
        title="Small stores",
        question="A person has thirty memories in the first week and a few hundred in the first "
        "year. How good is recall there, compared with each leg alone?",
        configs="default,base,lexical,dense",
        baseline="default",
        verdict="On stores of 30, 100 and 300 memories fusion is at or above the better leg. Words "
        "count by the share of the question that they carry, so that a single shared word does "
        "not outrank a near meaning.",
        metrics=("nDCG@10", "R@3", "R@1"),
        sets=("agentmem_dev", "hotpot_train100", "locomo", "musique_train100_openie"),
        stores_of=(30, 100, 300),
    ),
    Study(
        slug="rrf-k",
        title="The RRF constant k",
        question="How much does k matter, from 1 to 100, at the usual depth of 50?",
        configs="default,rrf:rrf_k=1|2|5|10|20|60|100",
        baseline="default",
        verdict="A small k is much better than the usual 60, which costs 3.4 points of R@10 and "
        "2.6 of nDCG@10 compared with k = 2. At its best k, RRF finds as much as standout fusion "
        "(within the interval) but ranks it 2.0 points of nDCG@10 worse.",
        plot="sweep",
    ),
    Study(
        slug="weights",
        title="The weight of the dense leg",
        question="What is the best fixed weight for each set, and what does a single weight for "
        "all sets cost? Standout fusion weighs the legs for each question, without labels: does "
        "it beat the best fixed weights?",
        configs="default,default:dense_weight=0.3|0.5|0.65|0.9|1.5,"
        "convex:dense_weight=0.25|0.5|1|2.3|4,rrf:rrf_k=10:dense_weight=0.25|0.5|1|2",
        baseline="default",
        verdict="No fixed weight for convex combination or RRF comes close on all sets: the best "
        "are 1.7 and 0.7 points of R@10, and 2.0 and 2.6 of nDCG@10, below standout fusion, which "
        "weighs the legs for each question by how confident each one is. Its own weight hardly "
        "matters between 0.6 and 1.2.",
        plot="sweep",
    ),
    Study(
        slug="depth",
        title="How many results to fetch from each leg",
        question="What do longer lists gain, and which fusion benefits?",
        configs="default,default:depth=20|50|100|200,rrf:rrf_k=10:depth=20|50|100|200,"
        "convex:dense_weight=2.3:depth=20|50|100|200",
        baseline="default",
        verdict="Fetch 100 from each leg. Standout fusion gains 0.4 points in R@10 and nDCG@10 "
        "from 50 to 100, and nothing more at 200. RRF hardly changes. Convex combination needs as "
        "much depth as it can get, because anything missing from a list scores zero.",
        plot="sweep",
    ),
    Study(
        slug="vote",
        title="The vote in standout fusion",
        question="How much should it count that a leg found a memory at all?",
        configs="default,default:vote=0|3|6|9|12|20",
        baseline="default",
        verdict="A vote of 6. On the mean of the sets, everything from 0 to 9 is equal within the "
        "intervals. The vote matters where both legs find the answer but neither is confident "
        "(SciFact); from 12 it starts to hurt.",
        strata=(OVERALL, _PARAPHRASE),
        plot="sweep",
    ),
    Study(
        slug="champions",
        title="Reserved places for each leg's top results",
        question="Does it help to reserve places among the first ten for each leg's top results, "
        "and how many?",
        configs="default,default:champions=0|1|2|3|4,convex:dense_weight=2.3:champions=0|3",
        baseline="default",
        verdict="It does not help. Standout fusion already keeps what a leg is confident about: "
        "reserving one to four places moves the mean by at most 0.2 points. Convex combination "
        "gains 4.3 points of R@10 from three places, and is still behind in nDCG@10.",
        strata=(OVERALL, _PARAPHRASE),
        plot="sweep",
    ),
    Study(
        slug="lexical",
        title="The lexical leg",
        question="Which ranks best by words alone: our rarity ranking, SQLite's FTS5, or BM25 "
        "from a third-party library as the yardstick?",
        configs="lexical,local-fts,bm25s",
        baseline="lexical",
        verdict="Rarity ranking beats plain `ts_rank` by 12.5 points of R@10 and 14.0 of nDCG@10, "
        "and BM25 by 1.6 and 1.7. SQLite's FTS5 is within a point of it on the mean, and slightly "
        "better on long sessions and MuSiQue.",
        strata=(OVERALL, _EXACT),
        limits=("Plain `ts_rank` was removed after this measurement.",),
    ),
    Study(
        slug="exact-bonus",
        title="The exact-match bonus",
        question="Is fusion worse than the lexical leg when a question uses the words of its "
        "answer, and does a bonus fix that?",
        configs="lexical,default,default:exact_bonus=0.1|0.25|0.5",
        baseline="lexical",
        verdict="The bonus does not help and is off. On LoCoMo's exact questions fusion is 2.0 "
        "points of nDCG@10 below the lexical leg; on no other set is it significantly below. The "
        "bonus does not fix that, because hardly any question appears verbatim in its answer. The "
        "goal of never being below the lexical leg is missed on LoCoMo.",
        metrics=("nDCG@10", "RR", "R@10"),
        strata=(_EXACT, OVERALL),
    ),
    Study(
        slug="importance",
        title="The importance prior",
        question="The sets have no importance values, so we generate them: `noise` is random, "
        "`signal` is higher for memories that some question asks for. How strong can the prior be "
        "before random importance hurts, and what does it gain when importance is meaningful?",
        configs="default,default:importance=noise:prior_strength=0.1|0.3|0.6|1,"
        "default:importance=signal:prior_strength=0.1|0.3|0.6|1,"
        "rrf:importance=noise:prior_strength=0.3,rrf:importance=signal:prior_strength=0.3,rrf",
        baseline="default",
        verdict="The strength stays at 0.3. Random importance costs 0.4 points of nDCG@10 on the "
        "mean, which is not significant (1.3 on SciFact, which is); meaningful importance gains "
        "1.3. From 0.6, random importance clearly hurts. Under RRF a strength of 0.3 costs 13 "
        "points.",
        sets=("hotpot_train100", "locomo", "scifact"),
    ),
    Study(
        slug="dense-window",
        title="What to embed: a turn alone or with its neighbours",
        question="A single turn of a conversation says little. Does it help to embed it together "
        "with the turns before and after it?",
        configs="default,default:embedded=window,dense,dense:embedded=window",
        baseline="default",
        verdict="Yes, a lot: 5.3 points of R@10, and half as much again on paraphrases. This led "
        "to something better that does not depend on later turns: a short turn is now embedded "
        "with the short turns before it (ADR 0029), which raises R@10 of both legs on LoCoMo from "
        "65.5 to 73.3.",
        sets=("locomo",),
        strata=(OVERALL, _PARAPHRASE),
    ),
    Study(
        slug="dense-title",
        title="What to embed: with or without the title",
        question="Does the dense leg benefit from the title above a text?",
        configs="default,default:embedded=text,dense,dense:embedded=text",
        baseline="default",
        verdict="With the title: without it, texts lose 0.7 points of nDCG@10 after fusion and "
        "1.8 in the dense leg alone.",
        sets=("2wiki_train500", "hotpot_train100", "musique_train100_openie"),
        limits=("Expanded keywords are not measured: no public set has any.",),
    ),
    Study(
        slug="embedder",
        title="The embedding model",
        question="all-MiniLM-L6-v2 in 8-bit and full precision, and the larger all-mpnet-base-v2: "
        "how much time does better quality cost?",
        configs="default,default:embedder=minilm-fp32,default:embedder=mpnet,"
        "dense,dense:embedder=minilm-fp32,dense:embedder=mpnet",
        baseline="default",
        verdict="The small model in 8-bit precision is the default: full precision gains nothing. "
        "The large model gains 5.1 points of R@10 on LoCoMo and little elsewhere, and makes a "
        "recall take up to two and a half times as long.",
        sets=("hotpot_train100", "locomo", "musique_train100_openie"),
        plot="tradeoff",
        is_timed=True,
    ),
    Study(
        slug="graph",
        title="The concept graph",
        question="With the lexical and dense legs fixed: what does a walk over the concepts that "
        "memories share add, how far should it go, and does it hurt where a single memory holds "
        "the answer? Concepts are extracted by rules alone.",
        configs="base,default,default:graph_weight=0.5|1|3",
        baseline="base",
        verdict="On by default: R@10 gains 19.5 points on 2Wiki, 6.2 on MuSiQue and 5.0 on "
        "HotpotQA, and neither metric drops on the single-fact and chat sets. Two hops with a "
        "recursive query do as well on the first three, better on LoCoMo and clearly worse on "
        "LongMemEval's turns.",
        strata=(OVERALL, _EXACT, _MULTI_HOP),
        limits=(
            (
                "The exact strata are too small to show equivalence to within a point: on "
                "SciFact, R@10 is 0.7 lower because of one question in 140."
            ),
            "Triples from an LLM (`default:graph=given`) are measured in ADR 0024, not here.",
            "The walk by a recursive query was removed after this measurement.",
        ),
    ),
)


def select_studies(studies: Sequence[Study], only: str | None) -> list[Study]:
    """Select studies by a comma-separated list of slugs, in their own order. None selects all."""
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
