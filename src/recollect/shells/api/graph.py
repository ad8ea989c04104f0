"""The concept graph: show a concept, connect two, merge and split."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query

from recollect.core.errors import NotFound
from recollect.core.graph.model import Concept, GraphPath, GraphStats, Neighbourhood
from recollect.ports.graph import Graph
from recollect.shells.api.context import Mine, TheServer, needs
from recollect.shells.api.openapi import OWNED, PREFIX, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.wire import graph as wire
from recollect.wire.graph import ConceptName, MergeIn, SplitIn
from recollect.wire.problems import KINDS
from recollect.wire.values import Moment

_NAMED: Final = (*SENT, KINDS[NotFound])

router = APIRouter(prefix=PREFIX, tags=["Concept graph"])


async def _graph(server: TheServer, mine: Mine) -> Graph:
    mine.context_for("read_graph")
    return server.graph_of(mine.owner)


MyGraph = Annotated[Graph, Depends(_graph)]
AsOf = Annotated[Moment | None, Query(description="Only what was true at this time.")]


@router.get(
    "/graph/stats",
    operation_id="graph_stats",
    **needs("read_graph"),
    summary="Count",
    response_model=wire.GRAPH_STATS.shape,
    responses={
        200: example("graph_stats", "The statistics."),
        **problems(*OWNED),
    },
)
async def graph_stats(graph: MyGraph) -> GraphStats:
    """Count what is in the concept graph of the key's owner."""
    return await graph.stats()


@router.get(
    "/graph/concept",
    operation_id="graph_concept",
    **needs("read_graph"),
    summary="Show a concept",
    response_model=wire.NEIGHBOURHOOD.shape,
    responses={
        200: example("neighbourhood", "The concept and its neighbours."),
        **problems(*_NAMED),
    },
)
async def graph_concept(
    graph: MyGraph,
    name: Annotated[ConceptName, Query(description="A concept, named as in memories.")],
    limit: Annotated[int, Query(json_schema_extra={"minimum": 1, "maximum": 100})] = 20,
    as_of: AsOf = None,
    *,
    history: Annotated[
        bool, Query(description="Include what is no longer true or stated.")
    ] = False,
) -> Neighbourhood:
    """Show a concept, its relationships with their dates and evidence, near synonyms, concepts
    mentioned with it, and the latest memories that mention it.
    """
    return await graph.show(name, limit=limit, as_of=as_of, history=history)


@router.get(
    "/graph/path",
    operation_id="graph_path",
    **needs("read_graph"),
    summary="Connect two concepts",
    response_model=wire.PATH.shape,
    responses={200: example("path", "The shortest path."), **problems(*_NAMED)},
)
async def graph_path(
    graph: MyGraph,
    source: Annotated[ConceptName, Query(description="The concept to start from.")],
    target: Annotated[ConceptName, Query(description="The concept to reach.")],
    as_of: AsOf = None,
) -> GraphPath | None:
    """Show how two concepts connect, in at most six steps, and which memories say so."""
    return await graph.path(source, target, as_of=as_of)


@router.post(
    "/graph/merge",
    operation_id="graph_merge",
    **needs("edit_graph"),
    summary="Merge two concepts",
    response_model=wire.CONCEPT.shape,
    responses={
        200: example("concept", "The concept, with its new names."),
        **problems(*_NAMED, MALFORMED),
    },
)
async def graph_merge(graph: MyGraph, sent: MergeIn, mine: Mine) -> Concept:
    """Merge two concepts: names of the other one then mean this one, also in new memories."""
    mine.context_for("edit_graph")
    return await graph.merge(sent.into, sent.other)


@router.post(
    "/graph/split",
    operation_id="graph_split",
    **needs("edit_graph"),
    summary="Split a concept",
    response_model=wire.CONCEPT.shape,
    responses={
        200: example("concept", "The new concept."),
        **problems(*_NAMED, MALFORMED),
    },
)
async def graph_split(graph: MyGraph, sent: SplitIn, mine: Mine) -> Concept:
    """Split off one of a concept's names as its own concept, also in new memories."""
    mine.context_for("edit_graph")
    return await graph.split(sent.concept, sent.alias)
