"""The leg that matches meaning: the query's vector against the memories' vectors.

Vectors of two spaces are never compared. The stored space names the model that wrote it; what that
name stands for in this process must be the same space, or the leg fails and says how to mend it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from recollect.core.recall import Candidate, Declined, RecallRequest
from recollect.core.recall_settings import RecallSettings
from recollect.core.space import StoredSpace
from recollect.core.text import clean_query
from recollect.ports import Embedder, Embedders, Leg, VectorIndex, VectorQuery
from recollect.usecases.tasks import give_up


def dense_leg(vectors: VectorIndex, embedders: Embedders) -> Leg:
    """The leg over one index of vectors, with the models that this process can run.

    Which model it must be, the store says. While it is asked, the one that was right the last time
    works already: it nearly always is again. If not, its vector is thrown away.
    """
    last: StoredSpace | None = None

    async def leg(
        owner: str, request: RecallRequest, settings: RecallSettings
    ) -> Sequence[Candidate] | Declined:
        nonlocal last
        if request.as_of is not None:
            return Declined(
                "skipped", "vectors are of present texts: what was known then is found by words"
            )
        text = clean_query(request.query)
        if not text:
            return ()
        guessed = last
        early = None if guessed is None else asyncio.create_task(vector_in(guessed, text))
        try:
            survey = await vectors.survey(owner, request.scope)
            if survey.space is None:
                return Declined(
                    "absent",
                    "no memory is embedded yet: `recollect worker` or `recollect serve` does",
                )
            embedder = await model_of(survey.space)
            if embedder.is_hosted and request.must_stay:
                return Declined(
                    "skipped",
                    f"the query is sensitive, and {survey.space.embedder} runs on another machine",
                )
            # What is sent to another machine is sent when it is known to be right.
            last = None if embedder.is_hosted else survey.space
            if early is not None and survey.space == guessed:
                vector = await early
            else:
                vector = await embedder.embed_query(text)
        finally:
            if early is not None:
                give_up(early)
        return await vectors.nearest(
            owner,
            request.scope,
            # The index leaves the excluded ones out itself, so that they cost no place.
            VectorQuery(
                space=survey.space,
                vector=vector,
                rows=survey.rows,
                depth=max(settings.depth, request.limit),
                exclude=request.exclude,
            ),
        )

    async def model_of(stored: StoredSpace) -> Embedder:
        embedder = await embedders.embedder(stored.embedder)
        stored.require(embedder.space)
        return embedder

    async def vector_in(stored: StoredSpace, text: str) -> Sequence[float]:
        return await (await model_of(stored)).embed_query(text)

    return leg


def no_dense_leg(note: str) -> Leg:
    """The leg where vectors have no place: it declines, and says why."""

    async def leg(owner: str, request: RecallRequest, settings: RecallSettings) -> Declined:  # noqa: ARG001  # the port's signature
        return Declined("absent", note)

    return leg
