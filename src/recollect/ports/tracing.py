"""Spans of what a server does, for an operator who collects traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol


class Span(Protocol):
    """One piece of work. Its name and attributes never contain a memory, a query or an owner."""

    def describe(self, name: str, **attributes: str | int) -> None:
        """Add what is known only at the end."""


class Tracer(Protocol):
    def span(self, name: str, **attributes: str | int) -> AbstractContextManager[Span]:
        """Measure what happens inside, as part of the enclosing span."""


class _NoSpan:
    def describe(self, name: str, **attributes: str | int) -> None: ...


class _NoTracer:
    @contextmanager
    def span(self, name: str, **attributes: str | int) -> Iterator[Span]:  # noqa: ARG002  # a port
        yield _NO_SPAN


_NO_SPAN: Final = _NoSpan()
NO_TRACER: Final[Tracer] = _NoTracer()
"""Used if no traces are collected."""
