"""Whether what makes a leg fast makes it wrong: its answer against an exhaustive search's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import mean
from typing import Final
from uuid import UUID

from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.settings import WordQuery
from recollect_bench.speed.corpus import OWNER, QueryKind
from recollect_bench.speed.rig import DEPTH, Rig

TOP: Final = 10
SCOPES: Final = {"all": EVERYWHERE, "10%": Scope(project="medium"), "1%": Scope(project="small")}
# Exhaustive searches of a large store take seconds each; so many queries of a kind are enough to
# see a difference of one hit in a hundred.
MAX_QUERIES: Final = 50

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The share of the exhaustive answer's first places that the leg's own answer holds."""

    rows: int
    part: str
    query_kind: str
    scope: str
    agreement: float


async def measure_agreement(
    rig: Rig,
    rows: int,
    kind: QueryKind,
    questions: Sequence[str],
    parts: Sequence[str],
    progress: Progress,
) -> list[Agreement]:
    """Of these parts, in each scope."""
    found: list[Agreement] = []
    asked = questions[:MAX_QUERIES]
    for (name, scope), part in product(SCOPES.items(), parts):
        shares: list[float] = []
        for number, question in enumerate(asked, start=1):
            shares.append(await _SHARES[part](rig, scope, question))
            progress(f"{rows:,} rows, {kind}, agreement in {name}", number, len(asked))
        found.append(Agreement(rows, part, kind, name, round(mean(shares), 4)))
    return found


async def _lexical(rig: Rig, scope: Scope, question: str) -> float:
    query = WordQuery(question, depth=TOP)
    exhaustive = replace(query, is_exhaustive=True)
    wanted = [hit.id for hit in await rig.store.search_words(OWNER, scope, exhaustive)]
    return _share(wanted, [hit.id for hit in await rig.store.search_words(OWNER, scope, query)])


async def _dense(rig: Rig, scope: Scope, question: str) -> float:
    """Over the whole depth that recall asks for, not only the first ten."""
    if rig.dense is None:
        return 1.0
    vector = await rig.dense.embedder.embed_query(question)
    # Deeper than an index scan may look (pgvector's largest ef_search), so every vector is read.
    wanted = await rig.dense.nearest(vector, scope, depth=1_001)
    got = await rig.dense.nearest(vector, scope)
    return _share([hit.id for hit in wanted[:DEPTH]], [hit.id for hit in got])


_SHARES: Final = {"lexical": _lexical, "dense": _dense}


def _share(wanted: Sequence[UUID], got: Sequence[UUID]) -> float:
    return len(set(wanted) & set(got)) / len(wanted) if wanted else 1.0
