"""The fusion of `core/recall/fusion.py` as one SQL statement: an option, for comparison.

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

from recollect.core.recall.fusion import (
    LOWEST_SCORE,
    Answers,
    Fused,
    Fusion,
    Weights,
    floors,
    least_variance,
)
from recollect.core.recall.request import LEGS, Candidate, LegName, LegPlace

Transaction = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]

_FOUND: Final[LiteralString] = """
{leg}_found as (
    select id, score, rank
    from unnest(%({leg}_ids)s::uuid[], %({leg}_scores)s::float8[])
        with ordinality as found (id, score, rank)
)"""
# Should a leg name a memory twice, its first place counts.
_LEG: Final[LiteralString] = """
{leg} as (
    select distinct on (id) id, score, rank, {share} as share
    from {leg}_found
    order by id, rank
)"""

_RECIPROCAL_RANK: Final[LiteralString] = "%({leg}_weight)s::float8 / (%(constant)s::float8 + rank)"

# From the least score possible to the best one found; where all are the least, nothing tells them
# apart. The scalar subqueries are computed once.
_CONVEX: Final[LiteralString] = """
    case when (select max(score) from {leg}_found) - {lowest}::float8 <= 0 then 0::float8
    else %({leg}_weight)s::float8 / {total} * (
        greatest(score - {lowest}::float8, 0)
        / ((select max(score) from {leg}_found) - {lowest}::float8)
    ) end"""

_EVERYONE: Final[LiteralString] = """
everyone as (select count(distinct id) as number from ({ids}) as listed)"""
# Heights above the floor, from 0 to 1; sums in the order of the list, as Python makes them.
_SPREAD: Final[LiteralString] = """
{leg}_heights as (
    select rank, (score - %({leg}_floor)s::float8)
        / nullif((select max(score) from {leg}_found) - %({leg}_floor)s::float8, 0) as height
    from {leg}_found
), {leg}_mean as (
    select listed, unlisted, total / (listed + unlisted) as mean
    from (
        select sum(height order by rank) as total, count(*) as listed,
            (select number from everyone)
                - (select count(distinct id) from {leg}_found) as unlisted
        from {leg}_heights
    ) as counted
), {leg}_spread as (
    select greatest(
        (sum((height - mean) * (height - mean) order by rank) + unlisted * (mean * mean))
            / (listed + unlisted),
        %({leg}_least)s::float8
    ) as variance
    from {leg}_heights, {leg}_mean
    group by listed, unlisted, mean
)"""
# The squared height in units of the variance; 0 where nothing tells the scores apart.
_STANDOUT: Final[LiteralString] = """
    %({leg}_weight)s::float8 / {total} * (coalesce(
        (select height * height / variance
        from {leg}_heights, {leg}_spread where {leg}_heights.rank = {leg}_found.rank),
        0
    ) + %(constant)s::float8)"""

_SHARES: Final[dict[Fusion, LiteralString]] = {
    "standout": _STANDOUT,
    "rrf": _RECIPROCAL_RANK,
    "convex": _CONVEX,
}

# The weights of the legs that answered, added up in their order.
_TOTAL: Final[LiteralString] = "({weights})"

_FUSED: Final[LiteralString] = """
with {tables}
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
        self, answers: Answers, weights: Weights, fusion: Fusion, constant: float
    ) -> list[Fused]:
        counted = {
            leg: found
            for leg in LEGS
            if weights.get(leg, 0.0) > 0.0 and (found := answers.get(leg, ()))
        }
        if not counted:
            return []
        params: dict[str, Any] = {"constant": constant}
        candidates: dict[UUID, Candidate] = {}
        floor = floors(counted)
        for leg, found in counted.items():
            params[f"{leg}_floor"] = floor[leg]
            params[f"{leg}_least"] = least_variance(found, floor[leg], LOWEST_SCORE[leg])
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
        tables=sql.SQL(", ").join(_tables(legs, fusion)),
        columns=sql.SQL(", ").join(columns),
        shares=sql.SQL(" + ").join(
            sql.SQL("coalesce({}.share, 0)").format(sql.SQL(leg)) for leg in legs
        ),
        joined=joined,
        ranks=sql.SQL(", ").join(sql.SQL("{}.rank").format(sql.SQL(leg)) for leg in legs),
    )


def _tables(legs: tuple[LegName, ...], fusion: Fusion) -> list[sql.Composed]:
    """What each leg found, then what is known of all of them, then each leg with its shares."""
    tables = [sql.SQL(_FOUND).format(leg=sql.SQL(leg)) for leg in legs]
    if fusion == "standout":
        ids = sql.SQL(" union all ").join(
            sql.SQL("select id from {}_found").format(sql.SQL(leg)) for leg in legs
        )
        tables.append(sql.SQL(_EVERYONE).format(ids=ids))
        tables += [sql.SQL(_SPREAD).format(leg=sql.SQL(leg)) for leg in legs]
    total = sql.SQL(_TOTAL).format(
        weights=sql.SQL(" + ").join(
            sql.SQL("%({}_weight)s::float8").format(sql.SQL(leg)) for leg in legs
        )
    )
    for leg in legs:
        name, lowest = sql.SQL(leg), sql.Literal(LOWEST_SCORE[leg])
        share = sql.SQL(_SHARES[fusion]).format(leg=name, lowest=lowest, total=total)
        tables.append(sql.SQL(_LEG).format(leg=name, share=share))
    return tables


def _fused(row: dict[str, Any], candidate: Candidate, legs: tuple[LegName, ...]) -> Fused:
    places = {
        leg: LegPlace(row[f"{leg}_rank"], row[f"{leg}_score"], row[f"{leg}_share"])
        for leg in legs
        if row[f"{leg}_rank"] is not None
    }
    return Fused(candidate, row["fused"], places)
