"""The questions that the benchmark settles, each as a value: what is compared, and what came of it.

`recollect bench study` measures them and writes `docs/benchmark.md`. The figures come from the run;
the verdict is written by a person who read them, and stands here beside the question so that both
change together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from recollect.bench.configs import Config, parse_configs
from recollect.bench.report import OVERALL
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
        verdict="VERDICT-fusion",
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
        verdict="VERDICT-rrf-k",
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
        verdict="VERDICT-weights",
        plot="sweep",
    ),
    Study(
        slug="depth",
        title="How deep the legs are asked",
        question="What do longer lists bring, and which fusion can use them?",
        configs="default,default:depth=20|50|100|200,rrf:rrf_k=10:depth=20|50|100|200,"
        "convex:dense_weight=2.3:depth=20|50|100|200",
        baseline="default",
        verdict="VERDICT-depth",
        plot="sweep",
    ),
    Study(
        slug="vote",
        title="The vote of standing out",
        question="How much should it count that a leg found a memory at all?",
        configs="default,default:vote=0|3|6|9|12|20",
        baseline="default",
        verdict="VERDICT-vote",
        strata=(OVERALL, _PARAPHRASE),
        plot="sweep",
    ),
    Study(
        slug="champions",
        title="Sure places for each leg's first",
        question="Does it pay to keep each leg's first few among the first ten, and how many?",
        configs="default,default:champions=0|1|2|3|4,convex:dense_weight=2.3:champions=0|3",
        baseline="default",
        verdict="VERDICT-champions",
        strata=(OVERALL, _PARAPHRASE),
        plot="sweep",
    ),
    Study(
        slug="lexical",
        title="The lexical leg",
        question="Plain `ts_rank`, our ranking by rarity, SQLite's FTS5, and BM25 from an outside "
        "library as the yardstick: which finds best by words alone?",
        configs="lexical,ts_rank,local-fts,bm25s",
        baseline="lexical",
        verdict="VERDICT-lexical",
        strata=(OVERALL, _EXACT),
    ),
    Study(
        slug="exact-bonus",
        title="The exact-match bonus",
        question="Is fusion below the lexical leg where a question holds the answer's words, and "
        "does the bonus repair that?",
        configs="lexical,default,default:exact_bonus=0.1|0.25|0.5",
        baseline="lexical",
        verdict="VERDICT-exact",
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
        verdict="VERDICT-importance",
        sets=("hotpot_train100", "locomo", "scifact"),
    ),
    Study(
        slug="dense-window",
        title="What is embedded: a turn, or a turn between its neighbours",
        question="A turn of a conversation says little alone. Does embedding it between the turns "
        "before and after it help?",
        configs="default,default:embedded=window,dense,dense:embedded=window",
        baseline="default",
        verdict="VERDICT-window",
        sets=("locomo",),
        strata=(OVERALL, _PARAPHRASE),
    ),
    Study(
        slug="dense-title",
        title="What is embedded: with or without the title",
        question="Does the dense leg profit from the title that stands above a text?",
        configs="default,default:embedded=text,dense,dense:embedded=text",
        baseline="default",
        verdict="VERDICT-title",
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
        verdict="VERDICT-embedder",
        sets=("hotpot_train100", "locomo", "musique_train100_openie"),
        plot="tradeoff",
        is_timed=True,
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
