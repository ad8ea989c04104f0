"""Traces for OpenTelemetry, sent by OTLP over HTTP. Needs the extra `otel`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from recollect import __version__
from recollect.core.admin.checks import how_to_install
from recollect.ports.tracing import NO_TRACER, Span, Tracer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as OtelSpan

log = logging.getLogger(__name__)

_ROUTE: Final = "/v1/traces"


@contextmanager
def open_tracer(endpoint: str | None) -> Iterator[Tracer]:
    """Yield a tracer that sends to a collector at this URL; without one, it records nothing."""
    if endpoint is None:
        yield NO_TRACER
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("no traces are sent: they need the extra `otel`. %s", how_to_install("otel"))
        yield NO_TRACER
        return
    resource = Resource.create({"service.name": "recollect", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/").removesuffix(_ROUTE) + _ROUTE)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    try:
        yield OtelTracer(provider)
    finally:
        provider.shutdown()


class OtelTracer:
    """Implements `Tracer`. Only the type of an exception is recorded: its text may quote."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("recollect", __version__)

    @contextmanager
    def span(self, name: str, **attributes: str | int) -> Iterator[Span]:
        from opentelemetry.trace import Status, StatusCode

        with self._tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield _Span(span)
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(Status(StatusCode.ERROR))
                raise


class _Span:
    def __init__(self, span: OtelSpan) -> None:
        self._span = span

    def describe(self, name: str, **attributes: str | int) -> None:
        self._span.update_name(name)
        self._span.set_attributes(attributes)
