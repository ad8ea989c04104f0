"""Whether a leg's speed costs accuracy: its results compared with an exhaustive search."""

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
# An exhaustive search of a large store takes seconds; this number of queries per kind is enough to
# see a difference of one hit in a hundred.
MAX_QUERIES: Final = 50

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The share of the exhaustive search's first hits that the leg found."""

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
    """Measure the agreement of these parts in each scope."""
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
    expected = [hit.id for hit in await rig.store.search_words(OWNER, scope, exhaustive)]
    return _share(expected, [hit.id for hit in await rig.store.search_words(OWNER, scope, query)])


async def _dense(rig: Rig, scope: Scope, question: str) -> float:
    """Compare over the whole depth of a recall, not only the first ten."""
    if rig.dense is None:
        return 1.0
    vector = await rig.dense.embedder.embed_query(question)
    # Deeper than an index scan may look (pgvector's largest ef_search), so every vector is read.
    expected = await rig.dense.nearest(vector, scope, depth=1_001)
    found = await rig.dense.nearest(vector, scope)
    return _share([hit.id for hit in expected[:DEPTH]], [hit.id for hit in found])


_SHARES: Final = {"lexical": _lexical, "dense": _dense}


def _share(expected: Sequence[UUID], found: Sequence[UUID]) -> float:
    return len(set(expected) & set(found)) / len(expected) if expected else 1.0
