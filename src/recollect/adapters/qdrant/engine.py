"""Requests to Qdrant, and the format of what is stored there.

A point is one passage: its vector, its owner, and the fields a scope can filter by. No text is
stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from math import ceil
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID, uuid5

from recollect.core.admin.checks import how_to_install
from recollect.core.errors import InvalidInput, StoreBusy, StoreError, StoreUnavailable
from recollect.core.memory.memory import Scope

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

Quantization = Literal["off", "scalar", "binary"]

# Every search names its owner, so each owner gets its own graph, and there is no global one.
_NEIGHBOURS: Final = 16
_EF_MIN: Final = 200
_EF_MAX: Final = 4_000
# With quantized vectors twice as many are fetched and then rescored with the full ones.
_OVERSAMPLING: Final = 2.0
_SECONDS: Final = 10.0
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_DENIED: Final = (401, 403)
_BUSY: Final = (429, 503)


@dataclass(frozen=True, slots=True)
class Point:
    """A passage as Qdrant stores it; `is_whole` if it is all of its memory's text."""

    owner: str
    memory_id: UUID
    passage: int
    is_whole: bool
    vector: Sequence[float]
    project: str | None
    session: str | None
    category: str
    tags: Sequence[str]
    created_at: datetime

    @property
    def id(self) -> str:
        """The id of the point. Two owners may have a memory of the same id."""
        return str(uuid5(self.memory_id, f"{self.passage} {self.owner}"))

    @property
    def payload(self) -> dict[str, Any]:
        return {
            "owner": self.owner,
            "memory": str(self.memory_id),
            "kind": "whole" if self.is_whole else "passage",
            "project": self.project,
            "session": self.session,
            "category": self.category,
            "tags": list(self.tags),
            "created_at": _to_number(self.created_at),
        }


class Qdrant:
    """One Qdrant. Errors are raised as Recollect's own."""

    def __init__(self, client: AsyncQdrantClient, quantization: Quantization = "off") -> None:
        self._client = client
        self._quantization = quantization

    async def close(self) -> None:
        await self._client.close()

    async def version(self) -> str:
        with translate_errors():
            return (await self._client.info()).version

    async def exists(self, collection: str) -> bool:
        with translate_errors():
            return await self._client.collection_exists(collection)

    async def create(self, collection: str, dimension: int) -> None:
        """Create the collection and its indexes, unless they exist."""
        from qdrant_client import models

        with translate_errors(), _ignore_status(_CONFLICT):
            await self._client.create_collection(
                collection,
                vectors_config=models.VectorParams(
                    size=dimension,
                    distance=models.Distance.COSINE,
                    datatype=models.Datatype.FLOAT16,
                ),
                hnsw_config=models.HnswConfigDiff(m=0, payload_m=_NEIGHBOURS),
                quantization_config=_quantization_config(self._quantization),
            )
        for field, schema in _indexes().items():
            with translate_errors():
                await self._client.create_payload_index(collection, field, schema)

    async def drop(self, collection: str) -> None:
        with translate_errors(), _ignore_status(_NOT_FOUND):
            await self._client.delete_collection(collection)

    async def count(self, collection: str) -> int:
        with translate_errors():
            return (await self._client.count(collection, exact=True)).count

    async def write(
        self, collection: str, owner: str, ids: Collection[UUID], points: Sequence[Point]
    ) -> None:
        """Replace all points of these memories of an owner by `points`."""
        from qdrant_client import models

        with translate_errors():
            if points:
                await self._client.upsert(
                    collection,
                    [
                        models.PointStruct(
                            id=point.id, vector=list(point.vector), payload=point.payload
                        )
                        for point in points
                    ],
                )
            written = models.HasIdCondition(has_id=[point.id for point in points])
            others = models.Filter(
                must=[_matches("owner", owner), _matches_any("memory", sorted(map(str, ids)))],
                must_not=[written] if points else None,
            )
            await self._client.delete(collection, models.FilterSelector(filter=others))

    async def search(
        self,
        collection: str,
        where: models.Filter,
        vector: Sequence[float],
        limit: int,
    ) -> list[UUID]:
        """Return the memories of the `limit` nearest passages, best first; a memory may appear
        several times.
        """
        with translate_errors():
            found = await self._client.query_points(
                collection,
                query=list(vector),
                query_filter=where,
                search_params=_search_params(self._quantization, limit),
                limit=limit,
                with_payload=["memory"],
            )
        return [UUID((point.payload or {})["memory"]) for point in found.points]


def connect(url: str | None, api_key: str | None, quantization: Quantization = "off") -> Qdrant:
    """Create a client for the Qdrant at this URL, without sending anything yet."""
    if url is None:
        raise InvalidInput(
            "RECOLLECT_VECTORS=qdrant needs the address of a Qdrant",
            field="RECOLLECT_QDRANT_URL",
            remedy="Set RECOLLECT_QDRANT_URL, such as http://127.0.0.1:6333, or unset"
            " RECOLLECT_VECTORS to search in Postgres.",
        )
    try:
        from qdrant_client import AsyncQdrantClient
    except ImportError as error:
        raise InvalidInput(
            "RECOLLECT_VECTORS=qdrant needs the package qdrant-client",
            field="RECOLLECT_VECTORS",
            remedy=how_to_install("qdrant"),
        ) from error
    try:
        client = AsyncQdrantClient(
            url=url, api_key=api_key, timeout=ceil(_SECONDS), check_compatibility=False
        )
    except ValueError as error:
        raise InvalidInput(
            "RECOLLECT_QDRANT_URL is not an address",
            field="RECOLLECT_QDRANT_URL",
            remedy="Write it as http://host:6333.",
        ) from error
    return Qdrant(client, quantization)


def to_filter(
    owner: str, scope: Scope, exclude: Collection[UUID] = (), *, whole: bool = False
) -> models.Filter:
    """Return a filter for the points of a scope, or only those of `whole` texts. Postgres checks
    each of them again.
    """
    from qdrant_client import models

    must: list[Any] = [_matches("owner", owner)]
    if whole:
        must.append(_matches("kind", "whole"))
    if scope.with_global:
        anywhere: list[Any] = [models.IsEmptyCondition(is_empty=models.PayloadField(key="project"))]
        if scope.project is not None:
            anywhere.append(_matches("project", scope.project))
        must.append(models.Filter(should=anywhere))
    elif scope.project is not None:
        must.append(_matches("project", scope.project))
    if scope.sessions:
        must.append(_matches_any("session", scope.sessions))
    if scope.categories:
        must.append(_matches_any("category", scope.categories))
    must += [_matches("tags", tag) for tag in scope.tags]
    if scope.since is not None or scope.until is not None:
        window = models.Range(
            gte=None if scope.since is None else _to_number(scope.since),
            lt=None if scope.until is None else _to_number(scope.until),
        )
        must.append(models.FieldCondition(key="created_at", range=window))
    excluded: list[Any] = [_matches_any("memory", sorted(map(str, exclude)))] if exclude else []
    return models.Filter(must=must, must_not=excluded or None)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the client's errors as errors that say what to do next. They may quote a request, so
    only the status is passed on.
    """
    exceptions = import_module("qdrant_client.http.exceptions")
    try:
        yield
    except exceptions.UnexpectedResponse as error:
        raise _translate(error.status_code or 0) from error
    except (exceptions.ApiException, OSError) as error:
        raise StoreUnavailable(
            "Qdrant cannot be reached",
            remedy="Check that it is running at RECOLLECT_QDRANT_URL. Until then memories are"
            " recalled by their words and concepts, and nothing that is stored is lost.",
        ) from error


def _translate(status: int) -> StoreError:
    if status == _NOT_FOUND:
        return MissingCollection(
            "Qdrant does not have this collection",
            remedy="A server or `recollect worker` creates and fills it; see `recollect status`.",
        )
    if status in _DENIED:
        return StoreUnavailable(
            f"Qdrant refuses the API key ({status})", remedy="Correct RECOLLECT_QDRANT_API_KEY."
        )
    if status in _BUSY:
        return StoreBusy(
            f"Qdrant was too busy to answer ({status})", remedy="Try again in a moment."
        )
    return StoreUnavailable(
        f"Qdrant refused the request ({status})",
        remedy="Look into the log of Qdrant; see docs/qdrant.md for the versions that work.",
    )


class MissingCollection(StoreUnavailable):
    """The collection was never created, or Qdrant has lost it."""


@contextmanager
def _ignore_status(status: int) -> Iterator[None]:
    """Ignore an error with this status: the requested state already exists."""
    exceptions = import_module("qdrant_client.http.exceptions")
    try:
        yield
    except exceptions.UnexpectedResponse as error:
        if error.status_code != status:
            raise


def _indexes() -> Mapping[str, Any]:
    from qdrant_client import models

    keyword = models.PayloadSchemaType.KEYWORD
    tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    return {
        "owner": tenant,
        "memory": models.PayloadSchemaType.UUID,
        "kind": keyword,
        "project": keyword,
        "session": keyword,
        "category": keyword,
        "tags": keyword,
        "created_at": models.PayloadSchemaType.INTEGER,
    }


def _quantization_config(kind: Quantization) -> Any:  # noqa: ANN401  # one of several models
    from qdrant_client import models

    if kind == "scalar":
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        return models.ScalarQuantization(scalar=scalar)
    if kind == "binary":
        binary = models.BinaryQuantizationConfig(always_ram=True)
        return models.BinaryQuantization(binary=binary)
    return None


def _search_params(kind: Quantization, limit: int) -> models.SearchParams:
    from qdrant_client import models

    rescored = models.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING)
    return models.SearchParams(
        hnsw_ef=min(max(_EF_MIN, limit), _EF_MAX),
        quantization=None if kind == "off" else rescored,
    )


def _matches(key: str, value: str) -> models.FieldCondition:
    from qdrant_client import models

    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _matches_any(key: str, values: Sequence[str]) -> models.FieldCondition:
    from qdrant_client import models

    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def _to_number(moment: datetime) -> int:
    """Convert to microseconds, as exact as in Postgres."""
    seconds = int(moment.replace(microsecond=0).timestamp())
    return seconds * 1_000_000 + moment.microsecond
