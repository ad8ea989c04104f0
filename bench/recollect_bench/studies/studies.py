"""The questions the benchmark answers: what is compared, and the verdict.

`recollect bench study` measures them and writes `docs/benchmark.md`. The figures come from the run.
The verdict is written by someone who read them, and is kept next to the question so that both
change together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from recollect.core.errors import InvalidInput
from recollect_bench.runs.configs import Config, parse_configs
from recollect_bench.scores.report import OVERALL

Plot = Literal["sets", "strata"]


@dataclass(frozen=True, slots=True)
class Study:
    """One comparison: `configs`, as on the command line, each compared with `baseline`.

    Tables show `metrics` in `strata`; no `sets` means all. The plot shows the first metric. With
    `stores_of`, the study is measured on small stores of these sizes, drawn from its sets.
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
    plot: Plot = "sets"
    limits: tuple[str, ...] = ()
    stores_of: tuple[int, ...] = ()

    def parse_configs(self) -> list[Config]:
        return parse_configs(self.configs)


_EXACT: Final = "rule:exact"
_PARAPHRASE: Final = "rule:paraphrase"
_MULTI_HOP: Final = "rule:multi-hop"

ENGLISH: Final = (
    "2wiki_train500",
    "agentmem_dev",
    "hotpot_train100",
    "locomo",
    "longmemeval_oracle_session",
    "longmemeval_oracle_turn",
    "musique_train100_openie",
    "scifact",
)
OTHER_LANGUAGES: Final = (
    "jsquad_valid",
    "xquad_ar",
    "xquad_de",
    "xquad_de_to_en",
    "xquad_ru",
    "xquad_th",
    "xquad_zh",
)

_EARLIER: Final = "before the floor of relevance was moved in front of the graph"
_SCIFACT: Final = f"SciFact was measured {_EARLIER}."
_OWNERS: Final = "An owner of agent memories has 60, so there are no larger stores of them."
_LONGMEMEVAL: Final = "LongMemEval was not measured with this version."

SMALL_STORES: Final = (
    "2wiki_train500",
    "agentmem_dev",
    "hotpot_train100",
    "locomo",
    "musique_train100_openie",
    "scifact",
)

STUDIES: Final[tuple[Study, ...]] = (
    Study(
        slug="fusion",
        title="Fusion compared with each leg alone",
        question="Does fusion rank better than either leg alone, and than reciprocal rank fusion "
        "and convex combination? `base` is fusion without the concept graph.",
        configs="default,base,lexical,dense,rrf,convex",
        baseline="default",
        verdict="The default is above each leg, reciprocal rank fusion and convex combination by "
        "5.6 to 11.7 points of nDCG@10 on the mean of the sets. Without the graph, which they do "
        "not have, it is above them by 2.3 to 8.4. On agent memories the dense leg alone is 1.1 "
        "points higher, which is not significant.",
        sets=ENGLISH,
        strata=(OVERALL, _EXACT, _PARAPHRASE, _MULTI_HOP),
        plot="strata",
        limits=(_LONGMEMEVAL, _SCIFACT),
    ),
    Study(
        slug="agent-memories",
        title="What agents store",
        question="Six owners with 60 memories each, and what is asked of them: paraphrases share "
        "no words with the answer, in mixed questions another memory shares more words, updates "
        "have an older answer too.",
        configs="default,lexical,dense,rrf,convex",
        baseline="default",
        verdict="nDCG@10 is 68.1: 1.1 points below the dense leg alone, which is not significant, "
        "and 1.7 to 16.6 above the others. Keywords are always found. Paraphrases have 91% of what "
        "the dense leg alone has. The first hit is right for 39% of the questions.",
        metrics=("nDCG@10", "R@10", "R@3", "R@1", "RR"),
        strata=(
            OVERALL,
            "paraphrase",
            "keyword",
            "mixed",
            "multi-hop",
            "update",
            "long",
            "cross-language",
        ),
        sets=("agentmem_dev",),
        plot="strata",
    ),
    Study(
        slug="small-stores",
        title="Small stores",
        question="A person has thirty memories in the first week and a few hundred in the first "
        "year. How good is recall there, compared with each leg alone?",
        configs="default,lexical,dense",
        baseline="default",
        verdict="On stores of 30, 100 and 300 memories fusion is above the better leg by 0.5 (not "
        "significant) to 10.9 points of nDCG@10, except on 30 agent memories, where the dense leg "
        "is 0.1 higher (not significant).",
        metrics=("nDCG@10", "R@3", "R@1"),
        sets=SMALL_STORES,
        stores_of=(30, 100, 300),
        limits=(_OWNERS, _SCIFACT),
    ),
    Study(
        slug="local",
        title="The local store compared with the server",
        question="Is recall from one SQLite file as good as from the server, with and without a "
        "model?",
        configs="default,local,local-fts",
        baseline="default",
        verdict="The local store recalls about as well as the server: no set is more than 0.8 "
        "points lower in R@10 or nDCG@10, the mean is 0.2 lower. Without a model "
        "it recalls by words, 6.4 points of nDCG@10 lower.",
        sets=(*ENGLISH, *OTHER_LANGUAGES),
        limits=(_LONGMEMEVAL, _SCIFACT),
    ),
    Study(
        slug="languages",
        title="Other languages",
        question="How well are memories found in languages that the embedding model does not know, "
        "and does its weak leg hurt? In `xquad_de_to_en` the questions are German and the memories "
        "English.",
        configs="default,lexical,dense",
        baseline="lexical",
        verdict="By words alone, R@10 is 97.7 or more in each of the six languages. The dense leg "
        "of an English model counts for little there, and does not lower the ranking.",
        sets=OTHER_LANGUAGES,
    ),
    Study(
        slug="lexical",
        title="The lexical leg",
        question="Which ranks best by words alone: our rarity ranking on Postgres, SQLite's FTS5, "
        "or BM25 from a third-party library as the yardstick?",
        configs="lexical,local-fts,bm25s",
        baseline="lexical",
        verdict="Rarity ranking beats BM25 by 1.4 points of R@10 and 3.0 of nDCG@10. The local "
        "store is 0.5 and 0.3 points lower on the mean, and 3.3 points of nDCG@10 lower on "
        "LoCoMo.",
        sets=ENGLISH,
        strata=(OVERALL, _EXACT),
    ),
    Study(
        slug="graph",
        title="The concept graph",
        question="What does a walk over the concepts that memories share add, and does it hurt "
        "where a single memory holds the answer? Concepts are extracted by rules alone.",
        configs="base,default",
        baseline="base",
        verdict="On by default: R@10 gains 18.8 points on 2Wiki, 7.5 on HotpotQA and 6.5 on "
        "MuSiQue. LoCoMo loses 0.2 (nDCG@10 as well, which is significant).",
        sets=ENGLISH,
        strata=(OVERALL, _EXACT, _MULTI_HOP),
        limits=(
            "Triples from a language model (`default:graph=given`) are in ADR 0024.",
            _SCIFACT,
        ),
    ),
    Study(
        slug="second-stage",
        title="Late interaction",
        question="The first hits are reordered by how well their words match those of the "
        "question, one by one, in the model's token vectors. What does that gain?",
        configs="default:second_stage=off,default",
        baseline="default:second_stage=off",
        verdict="On by default for the models that have token vectors. nDCG@10 gains 3.7 points on "
        "LoCoMo and 1.1 on 2Wiki. The gains of 0.4 to 1.3 on the other English sets are not "
        "significant (ADR 0052).",
        metrics=("nDCG@10", "R@3", "R@1"),
        sets=(*ENGLISH, *OTHER_LANGUAGES),
        limits=(_SCIFACT,),
    ),
    Study(
        slug="long-texts",
        title="Long texts",
        question="A long text is embedded in passages. `embedded=first` embeds only what fits the "
        "model's window. The sessions of LongMemEval have 14,000 characters on average.",
        configs="default:embedded=first,default,dense:embedded=first,dense",
        baseline="default:embedded=first",
        verdict="Passages gain 5.6 points of R@10 and 7.7 of nDCG@10, and by meaning alone 19.1 "
        "and 17.1, on sessions of LongMemEval (ADR 0047).",
        sets=("longmemeval_oracle_session", "scifact"),
        limits=("SciFact was not measured with this version.",),
    ),
    Study(
        slug="models",
        title="The embedding model",
        question="Does a better model give a better ranking, with the same fusion? Their cost is "
        "measured by `recollect bench models`.",
        configs="default,default:embedder=granite-30m,default:embedder=gte-small,"
        "dense,dense:embedder=granite-30m,dense:embedder=gte-small",
        baseline="default",
        verdict="Where a model beats `minilm` by meaning alone, it also beats it in all, with the "
        "same fusion (nDCG@10): `gte-small` gains 5.2 points by meaning alone and 1.9 in all. "
        "`granite-30m` gains everywhere but on LoCoMo, where it has no late interaction and loses "
        "4.0. The default stays `minilm`, which takes half the time of `gte-small` "
        "(docs/adr/rejected.md).",
        sets=ENGLISH,
        limits=(
            "SciFact and LongMemEval were not measured with all three models.",
            "Late interaction is part of `dense`, too, for the models that have it.",
            f"The sets were measured {_EARLIER}.",
        ),
    ),
    Study(
        slug="small-stores-models",
        title="The embedding model on small stores",
        question="Does a better model also give a better ranking on stores of 30 and 100 memories?",
        configs="default,default:embedder=granite-30m|gte-small,"
        "dense,dense:embedder=granite-30m|gte-small",
        baseline="default",
        verdict="`gte-small` gains 1.6 points of nDCG@10 by meaning alone and 0.5 in all, and "
        "`granite-30m` 1.0 and 0.4, the last not significant. A store of 30 loses up to 0.5 (not "
        "significant) with them, one of 100 gains up to 1.3.",
        metrics=("nDCG@10", "R@3", "R@1"),
        sets=("2wiki_train500", "agentmem_dev", "hotpot_train100", "musique_train100_openie"),
        stores_of=(30, 100),
        limits=(_OWNERS,),
    ),
    Study(
        slug="importance",
        title="The importance prior",
        question="The sets have no importance values, so we generate them: `noise` is random, "
        "`signal` is higher for memories that some question asks for. How strong can the prior be "
        "before random importance hurts, and what does it gain when importance is meaningful?",
        configs="default,default:importance=noise:prior_strength=0.1|0.3|0.6,"
        "default:importance=signal:prior_strength=0.1|0.3|0.6",
        baseline="default",
        verdict="The strength stays at 0.3. Random importance costs 0.4 points of nDCG@10 on the "
        "mean, which is not significant; meaningful importance gains 0.8. At 0.6, random "
        "importance costs 1.2.",
        sets=("hotpot_train100", "locomo", "scifact"),
        limits=(_SCIFACT,),
    ),
)


def select_studies(studies: Sequence[Study], only: str | None) -> list[Study]:
    """Select studies by a comma-separated list of slugs, in their own order. None selects all."""
    if only is None:
        return list(studies)
    selected = [slug.strip() for slug in only.split(",")]
    known = [study.slug for study in studies]
    unknown = [slug for slug in selected if slug not in known]
    if unknown:
        raise InvalidInput(
            f"there is no study named {unknown[0][:60]!r}",
            field="--only",
            remedy=f"Choose from {', '.join(known)}.",
        )
    return [study for study in studies if study.slug in selected]
