"""The fusion of `core/fusion.py` as one SQL statement: an option, for comparison.

The legs' lists go in as arrays; common table expressions rank and weigh them, and full outer joins
bring them together. Postgres computes with the same 64-bit numbers in the same order, so that
ranks, contributions, scores and ties are equal to the last bit; tests hold the two equal. The one
difference: where a quotient is too small for such a number (scores below 1e-300), Python says 0
and Postgres refuses.

It is slower than fusing in the process (docs/adr/0010): the lists are here already.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncConnection, sql

from recollect.core.fusion import LOWEST_SCORE, Answers, Fused, Fusion, Weights
from recollect.core.recall import LEGS, Candidate, LegName, LegPlace

Transaction = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]

# Should a leg name a memory twice, its first place counts.
_LEG: Final[LiteralString] = """
{leg}_found as (
    select id, score, rank
    from unnest(%({leg}_ids)s::uuid[], %({leg}_scores)s::float8[])
        with ordinality as found (id, score, rank)
), {leg} as (
    select distinct on (id) id, score, rank, {share} as share
    from {leg}_found
    order by id, rank
)"""

_RECIPROCAL_RANK: Final[LiteralString] = "%({leg}_weight)s::float8 / (%(k)s + rank)::float8"

# From the least score possible to the best one found; where all are the least, nothing tells them
# apart. The scalar subqueries are computed once.
_CONVEX: Final[LiteralString] = """
    case when (select max(score) from {leg}_found) - {lowest}::float8 <= 0 then 0::float8
    else %({leg}_weight)s::float8 / {total} * (
        greatest(score - {lowest}::float8, 0)
        / ((select max(score) from {leg}_found) - {lowest}::float8)
    ) end"""

# The weights of the legs that answered, added up in their order.
_TOTAL: Final[LiteralString] = "({weights})"

_FUSED: Final[LiteralString] = """
with {legs}
select id, {columns},
    {shares} as fused
from {joined}
order by fused desc, least({ranks}), id
"""


class PostgresFuser:
    """Implements the `Fuser` port on a store's connections."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def __call__(
        self, answers: Answers, weights: Weights, fusion: Fusion, k: int
    ) -> list[Fused]:
        counted = {
            leg: found
            for leg in LEGS
            if weights.get(leg, 0.0) > 0.0 and (found := answers.get(leg, ()))
        }
        if not counted:
            return []
        params: dict[str, Any] = {"k": k}
        candidates: dict[UUID, Candidate] = {}
        for leg, found in counted.items():
            params[f"{leg}_ids"] = [one.id for one in found]
            params[f"{leg}_scores"] = [one.score for one in found]
            params[f"{leg}_weight"] = weights[leg]
            for one in found:
                candidates.setdefault(one.id, one)
        statement = _statement(tuple(counted), fusion)
        async with self._transaction() as connection:
            rows = await (await connection.execute(statement, params)).fetchall()
        return [_fused(row, candidates[row["id"]], tuple(counted)) for row in rows]


def _statement(legs: tuple[LegName, ...], fusion: Fusion) -> sql.Composed:
    first, *others = (sql.SQL(leg) for leg in legs)
    joined: sql.Composable = first
    for leg in others:
        joined = sql.SQL("{} full outer join {} using (id)").format(joined, leg)
    columns = [
        sql.SQL(
            "{leg}.rank as {leg}_rank, {leg}.score as {leg}_score, {leg}.share as {leg}_share"
        ).format(leg=sql.SQL(leg))
        for leg in legs
    ]
    return sql.SQL(_FUSED).format(
        legs=sql.SQL(", ").join(_leg(leg, legs, fusion) for leg in legs),
        columns=sql.SQL(", ").join(columns),
        shares=sql.SQL(" + ").join(
            sql.SQL("coalesce({}.share, 0)").format(sql.SQL(leg)) for leg in legs
        ),
        joined=joined,
        ranks=sql.SQL(", ").join(sql.SQL("{}.rank").format(sql.SQL(leg)) for leg in legs),
    )


def _leg(leg: LegName, legs: tuple[LegName, ...], fusion: Fusion) -> sql.Composed:
    name = sql.SQL(leg)
    if fusion == "rrf":
        share = sql.SQL(_RECIPROCAL_RANK).format(leg=name)
    else:
        total = sql.SQL(_TOTAL).format(
            weights=sql.SQL(" + ").join(
                sql.SQL("%({}_weight)s::float8").format(sql.SQL(each)) for each in legs
            )
        )
        lowest = sql.Literal(LOWEST_SCORE[leg])
        share = sql.SQL(_CONVEX).format(leg=name, lowest=lowest, total=total)
    return sql.SQL(_LEG).format(leg=name, share=share)


def _fused(row: dict[str, Any], candidate: Candidate, legs: tuple[LegName, ...]) -> Fused:
    places = {
        leg: LegPlace(row[f"{leg}_rank"], row[f"{leg}_score"], row[f"{leg}_share"])
        for leg in legs
        if row[f"{leg}_rank"] is not None
    }
    return Fused(candidate, row["fused"], places)
