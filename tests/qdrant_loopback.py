"""Qdrant for tests: its own client in local mode, and an HTTP server with the embedded engine.

The server speaks the REST routes that Recollect uses. It rejects fields that it does not know, so
that a request which means something else to a real Qdrant does not go unnoticed, and it records
every request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import httpx
import qdrant_edge as edge
from qdrant_client import AsyncQdrantClient
from qdrant_client.http.exceptions import UnexpectedResponse

VERSION = "1.17.0"


class LocalClient(AsyncQdrantClient):
    """The client's local mode, with the statuses that a server would send."""

    def __init__(self) -> None:
        super().__init__(":memory:")

    async def create_collection(self, collection_name: str, *args: Any, **options: Any) -> bool:
        if await self.collection_exists(collection_name):
            raise _make_error(409)
        return await super().create_collection(collection_name, *args, **options)

    async def create_payload_index(self, *_: Any, **_options: Any) -> Any:
        """Do nothing: local mode has no indexes, and warns about it."""

    async def query_points(self, collection_name: str, *args: Any, **options: Any) -> Any:
        """Drop the index parameters: local mode compares everything, and warns about them."""
        await self._require(collection_name)
        options.pop("search_params")
        return await super().query_points(collection_name, *args, **options)

    async def upsert(self, collection_name: str, *args: Any, **options: Any) -> Any:
        await self._require(collection_name)
        return await super().upsert(collection_name, *args, **options)

    async def delete(self, collection_name: str, *args: Any, **options: Any) -> Any:
        await self._require(collection_name)
        return await super().delete(collection_name, *args, **options)

    async def _require(self, collection: str) -> None:
        if not await self.collection_exists(collection):
            raise _make_error(404)


def _make_error(status: int) -> UnexpectedResponse:
    return UnexpectedResponse(status, "", b"", httpx.Headers())


class QdrantServer:
    """Qdrant's REST routes over the embedded engine, while entered."""

    def __init__(self, folder: Path, api_key: str | None = None) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.api_key = api_key
        self.is_failing = False
        self._folder = folder
        self._shards: dict[str, edge.EdgeShard] = {}
        self._lock = Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                status, result = server.handle(
                    self.command, self.path, body, self.headers.get("api-key")
                )
                sent = json.dumps(result).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815  # the names of the base

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for shard in self._shards.values():
            shard.close()

    def lose_everything(self) -> None:
        """Drop all collections, as after the loss of its disk."""
        with self._lock:
            for shard in self._shards.values():
                shard.close()
            self._shards.clear()

    @property
    def collections(self) -> list[str]:
        return sorted(self._shards)

    def points(self) -> list[Mapping[str, Any]]:
        """Return the payloads of all points."""
        with self._lock:
            found: list[Mapping[str, Any]] = []
            for shard in self._shards.values():
                records, _ = shard.scroll(edge.ScrollRequest(limit=100_000, with_payload=True))
                found += [record.payload or {} for record in records]
            return found

    def handle(
        self, method: str, target: str, body: Any, api_key: str | None
    ) -> tuple[int, dict[str, Any]]:
        parts = urlsplit(target)
        with self._lock:
            self.requests.append((method, target, deepcopy(body)))
            if self.is_failing:
                return 503, {"status": {"error": "unavailable"}}
            if self.api_key is not None and api_key != self.api_key:
                return 401, {"status": {"error": "invalid API key"}}
            path = parts.path.strip("/").split("/")
            status, result = self._route(method, path, body or {}, parse_qs(parts.query))
        if method == "GET" and parts.path == "/":
            return status, result
        if status != 200:
            return status, {"status": {"error": str(result)}, "time": 0.0}
        return status, {"result": result, "status": "ok", "time": 0.0}

    def _route(
        self, method: str, path: list[str], body: dict[str, Any], query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        match method, *path:
            case "GET", "":
                return 200, {"title": "qdrant", "version": VERSION}
            case "GET", "collections", name, "exists":
                return 200, {"exists": name in self._shards}
            case "PUT", "collections", name if name in self._shards:
                return 409, "already exists"
            case "PUT", "collections", name:
                self._shards[name] = self._create(name, body)
                return 200, True
            case "DELETE", "collections", name:
                if shard := self._shards.pop(name, None):
                    shard.close()
                return 200, shard is not None
            case _, "collections", name, *_ if name not in self._shards:
                return 404, f"Collection `{name}` doesn't exist!"
            case method, "collections", name, *rest:
                return self._change(self._shards[name], method, rest, body, query)
        return 400, "unknown route"

    def _create(self, name: str, body: dict[str, Any]) -> edge.EdgeShard:
        vectors, hnsw = body.pop("vectors"), body.pop("hnsw_config")
        quantization = body.pop("quantization_config", None)
        assert not body, body
        assert vectors.pop("distance") == "Cosine"
        assert vectors.pop("datatype") == "float16"
        config = edge.EdgeConfig(
            vectors=edge.EdgeVectorParams(
                size=vectors.pop("size"),
                distance=edge.Distance.Cosine,
                datatype=edge.VectorStorageDatatype.Float16,
            ),
            hnsw_config=edge.HnswIndexConfig(
                m=hnsw.pop("m"),
                payload_m=hnsw.pop("payload_m"),
                ef_construct=100,
                full_scan_threshold=10_000,
            ),
            quantization_config=_to_quantization(quantization),
        )
        assert not vectors, vectors
        assert not hnsw, hnsw
        number = len(list(self._folder.iterdir())) if self._folder.exists() else 0
        folder = self._folder / str(number)
        folder.mkdir(parents=True)
        return edge.EdgeShard.create(str(folder), config)

    def _change(
        self,
        shard: edge.EdgeShard,
        method: str,
        rest: list[str],
        body: dict[str, Any],
        query: dict[str, list[str]],
    ) -> tuple[int, Any]:
        done = {"operation_id": 0, "status": "completed"}
        match method, *rest:
            case "PUT", "index":
                _check_wait(query)
                schema = _to_schema(body["field_schema"])
                shard.update(edge.UpdateOperation.create_field_index(body["field_name"], schema))
                return 200, done
            case "PUT", "points":
                _check_wait(query)
                points = [
                    edge.Point(point["id"], point["vector"], point["payload"])
                    for point in body["points"]
                ]
                shard.update(edge.UpdateOperation.upsert_points(points))
                return 200, done
            case "POST", "points", "delete":
                _check_wait(query)
                chosen = _to_filter(body["filter"])
                shard.update(edge.UpdateOperation.delete_points_by_filter(chosen))
                return 200, done
            case "POST", "points", "count":
                assert body == {"exact": True}
                return 200, {"count": shard.count(edge.CountRequest(exact=True))}
            case "POST", "points", "query":
                return 200, {"points": _search(shard, body)}
        return 400, "unknown route"


def _check_wait(query: Mapping[str, list[str]]) -> None:
    """Require `wait`: without it Qdrant answers before it has written."""
    assert query.get("wait") == ["true"], query


def _search(shard: edge.EdgeShard, body: dict[str, Any]) -> list[dict[str, Any]]:
    params = body.pop("params")
    assert body.pop("with_payload") == ["memory"]
    assert body.pop("with_vector") is False
    assert params.keys() <= {"hnsw_ef", "quantization"}, params
    request = edge.QueryRequest(
        limit=body.pop("limit"),
        query=edge.Query.Nearest(body.pop("query")["nearest"]),
        filter=_to_filter(body.pop("filter")),
        with_payload=True,
        params=edge.SearchParams(hnsw_ef=params["hnsw_ef"]),
    )
    assert not body, body
    return [
        {
            "id": str(point.id),
            "version": point.version,
            "score": point.score,
            "payload": {"memory": (point.payload or {})["memory"]},
        }
        for point in shard.query(request)
    ]


def _to_filter(body: Mapping[str, Any]) -> edge.Filter:
    assert body.keys() <= {"must", "should", "must_not"}, body
    conditions: dict[str, Any] = {
        name: [_to_condition(each) for each in given] for name, given in body.items()
    }
    return edge.Filter(**conditions)


def _to_condition(body: Mapping[str, Any]) -> Any:
    match dict(body):
        case {"key": key, "match": {"value": value, **none}} if not none:
            return edge.FieldCondition(key, match=edge.MatchValue(value))
        case {"key": key, "match": {"any": values, **none}} if not none:
            return edge.FieldCondition(key, match=edge.MatchAny(values))
        case {"key": key, "range": limits}:
            return edge.FieldCondition(key, range=edge.RangeFloat(**limits))
        case {"is_empty": {"key": key}}:
            return edge.IsEmptyCondition(key)
        case {"has_id": ids}:
            return edge.HasIdCondition(set(ids))
        case {"should": _} as inner:
            return _to_filter(inner)
    raise AssertionError(f"unknown condition: {body}")


def _to_schema(body: Any) -> Any:
    if isinstance(body, str):
        return getattr(edge.PayloadSchemaType, body.capitalize())
    assert body == {"type": "keyword", "is_tenant": True}
    return edge.KeywordIndexParams(is_tenant=True)


def _to_quantization(body: Any) -> Any:
    match body:
        case None:
            return None
        case {"scalar": {"type": "int8", "always_ram": True}}:
            return edge.ScalarQuantizationConfig(type=edge.ScalarType.Int8, always_ram=True)
        case {"binary": {"always_ram": True}}:
            return edge.BinaryQuantizationConfig(always_ram=True)
    raise AssertionError(f"unknown quantization: {body}")
