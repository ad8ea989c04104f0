"""The leg that matches meaning: the query's vector against the memories' vectors.

Vectors of two spaces are never compared. The stored space names the model that wrote it; what that
name stands for in this process must be the same space, or the leg fails and says how to mend it.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.core.errors import ModelUnavailable
from recollect.core.recall import Candidate, Declined, RecallRequest
from recollect.core.recall_settings import RecallSettings
from recollect.core.space import StoredSpace
from recollect.core.text import clean_query
from recollect.ports import Embedder, Embedders, Leg, VectorIndex, VectorQuery


def dense_leg(vectors: VectorIndex, embedders: Embedders) -> Leg:
    """The leg over one index of vectors, with the models that this process can run."""

    async def leg(
        owner: str, request: RecallRequest, settings: RecallSettings
    ) -> Sequence[Candidate] | Declined:
        if request.as_of is not None:
            return Declined(
                "skipped", "vectors are of present texts: what was known then is found by words"
            )
        text = clean_query(request.query)
        if not text:
            return ()
        stored = await vectors.active_space()
        if stored is None:
            return Declined(
                "absent", "no memory is embedded yet: `recollect worker` or `recollect serve` does"
            )
        embedder = await embedders.embedder(stored.embedder)
        _check_space(embedder, stored)
        if embedder.is_hosted and request.must_stay:
            return Declined(
                "skipped", f"the query is sensitive, and {stored.embedder} runs on another machine"
            )
        vector = await embedder.embed_query(text)
        return await vectors.nearest(
            owner,
            request.scope,
            # The index leaves the excluded ones out itself, so that they cost no place.
            VectorQuery(
                space=stored,
                vector=vector,
                depth=max(settings.depth, request.limit),
                exclude=request.exclude,
            ),
        )

    return leg


def no_dense_leg(note: str) -> Leg:
    """The leg where vectors have no place: it declines, and says why."""

    async def leg(owner: str, request: RecallRequest, settings: RecallSettings) -> Declined:  # noqa: ARG001  # the port's signature
        return Declined("absent", note)

    return leg


def _check_space(embedder: Embedder, stored: StoredSpace) -> None:
    if embedder.space.name != stored.space.name:
        raise ModelUnavailable(
            f"{stored.embedder} now writes the space {embedder.space.name}, but the memories are "
            f"embedded in {stored.space.name}; `recollect reembed --model {stored.embedder}` "
            "embeds them anew",
            remedy=f"Run `recollect reembed --model {stored.embedder}`, or install the version of "
            "the model that wrote them.",
        )
