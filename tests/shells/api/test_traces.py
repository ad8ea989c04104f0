"""Traces of a whole server, as a collector receives them over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from gzip import decompress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.serving import running

from recollect.adapters.traces import open_tracer
from recollect.ports.tracing import NO_TRACER

SECRET = "zanzibar"  # a word to search for


@contextmanager
def collecting() -> Iterator[tuple[str, list[bytes]]]:
    received: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name of the base
            assert self.path == "/v1/traces"
            body = self.rfile.read(int(self.headers["content-length"]))
            is_packed = self.headers.get("content-encoding") == "gzip"
            received.append(decompress(body) if is_packed else body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def spans_in(received: list[bytes]) -> list[Span]:
    requests = [ExportTraceServiceRequest.FromString(body) for body in received]
    return [
        span
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_a_recall_is_traced_without_its_words(database_url: str, tmp_path: Path) -> None:
    with collecting() as (endpoint, received):
        with (
            running(
                database_url, tmp_path, embedder="none", otlp_endpoint=endpoint, worker="inside"
            ) as up,
            up.client(up.new_key(f"{SECRET}-owner")) as client,
        ):
            sent = client.post("memories", json={"content": f"{SECRET} is an island"})
            assert sent.is_success
            assert client.get(f"memories/{sent.json()['id']}").is_success
            assert client.post("recall", json={"query": SECRET}).json()["hits"]
            assert client.get(f"memories/{SECRET}").status_code == 422
        spans = spans_in(received)
    named = {span.name: span for span in spans}
    request, recall, leg = (
        named[name] for name in ("POST /api/v1/recall", "recall", "lexical leg")
    )
    assert recall.parent_span_id == request.span_id
    assert leg.parent_span_id == recall.span_id
    assert request.parent_span_id == b""
    values = {each.key: each.value for each in request.attributes}
    assert values["http.route"].string_value == "/api/v1/recall"
    assert values["http.response.status_code"].int_value == 200
    assert {"postgres transaction", "AnalysisStep", "GET /api/v1/memories/{reference}"} <= {*named}
    for body in received:
        assert SECRET.encode() not in body


def test_an_error_is_recorded_by_its_type_alone() -> None:
    with collecting() as (endpoint, received):
        with (
            pytest.raises(ValueError, match=SECRET),
            open_tracer(f"{endpoint}/") as tracer,
            tracer.span("work"),
        ):
            raise ValueError(SECRET)
        (span,) = spans_in(received)
    assert [(each.key, each.value.string_value) for each in span.attributes] == [
        ("error.type", "ValueError")
    ]
    assert SECRET.encode() not in b"".join(received)


def test_nothing_is_traced_without_an_endpoint() -> None:
    with open_tracer(None) as tracer:
        assert tracer is NO_TRACER
