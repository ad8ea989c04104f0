"""Typed links from one memory to another, and their effect on the hits of a recall.

A link is a field of its source memory, so it is stored, synced and exported with it. Its target is
only an id: the memory may not exist yet, or no longer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from recollect.core.errors import InvalidInput

SUPERSEDES: Final = "supersedes"
RESOLVED_BY: Final = "resolved_by"
# supersedes: returned in the target's place; resolved_by: the target is attached; part_of,
# see_also: the target is listed.
KINDS: Final = (SUPERSEDES, RESOLVED_BY, "part_of", "see_also")
MAX_LINKS: Final = 32
_MAX_KIND: Final = 40


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """A typed link to another memory. Unknown kinds are stored, but have no effect."""

    kind: str
    target: UUID


@dataclass(frozen=True, slots=True)
class Pointer:
    """A memory that a hit links to without including it. `is_dangling`: it does not exist here, or
    no longer.
    """

    kind: str
    target: UUID
    is_dangling: bool = False


def check_links(links: Iterable[Link], of: UUID) -> tuple[Link, ...]:
    """Return the links in canonical order without duplicates; or raise InvalidInput."""
    tidy = tuple(sorted(set(links)))
    if len(tidy) > MAX_LINKS:
        raise InvalidInput(
            f"{len(tidy)} links given; the limit is {MAX_LINKS}",
            field="links",
            remedy="Keep only the links that a reader would follow.",
        )
    for link in tidy:
        if link.target == of:
            raise InvalidInput(
                f"the memory would be linked to itself by {link.kind[:_MAX_KIND]!r}",
                field="links",
                remedy="Name another memory as the target.",
            )
        if not link.kind.isidentifier() or not link.kind.isascii() or len(link.kind) > _MAX_KIND:
            raise unknown_kind(link.kind)
    return tidy


def check_kinds(links: Iterable[Link]) -> None:
    """Reject unknown kinds from people and programs. Sync may bring newer ones."""
    for link in links:
        if link.kind not in KINDS:
            raise unknown_kind(link.kind)


def unknown_kind(kind: str) -> InvalidInput:
    return InvalidInput(
        f"unknown kind of link {kind[:_MAX_KIND]!r}",
        field="links",
        remedy=f"Choose one of: {', '.join(KINDS)}.",
    )


def as_values(links: Iterable[Link]) -> list[dict[str, str]]:
    """Return the links as plain JSON values, in canonical order."""
    return [{"kind": link.kind, "target": str(link.target)} for link in sorted(set(links))]


def from_values(values: Iterable[Mapping[str, Any]]) -> tuple[Link, ...]:
    return tuple(sorted({Link(str(value["kind"]), UUID(str(value["target"]))) for value in values}))


def merge_links(
    before: Sequence[Mapping[str, Any]],
    local: Sequence[Mapping[str, Any]],
    remote: Sequence[Mapping[str, Any]],
) -> list[dict[str, str]] | None:
    """Merge both sides' links, as values: the additions and removals of either apply. None if that
    is more than a memory may have.
    """
    old, mine, theirs = (set(from_values(side)) for side in (before, local, remote))
    both = (mine & theirs) | (mine - old) | (theirs - old)
    return as_values(both) if len(both) <= MAX_LINKS else None


def last(id: UUID, successors: Mapping[UUID, UUID]) -> UUID:
    """Return the memory that replaces this one: the end of the chain of its successors, or itself.
    In a cycle there is no last one, so each memory replaces itself.
    """
    seen = {id}
    at = id
    while (following := successors.get(at)) is not None:
        if following in seen:
            return id
        seen.add(following)
        at = following
    return at


def targets(links: Iterable[Link]) -> Collection[UUID]:
    """Return the memories to look up when links are followed. Not those that it supersedes: it
    already replaces them.
    """
    return {link.target for link in links if link.kind != SUPERSEDES}
