"""Follow the links of a recall's hits: pure, so that every tangle can be tested.

The order is final before that: a link moves nothing up. A text shown because of a link obeys the
rules for hits: the owner's own, not forgotten, inside the scope, not excluded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from recollect.core.memory.links import RESOLVED_BY, SUPERSEDES, Pointer, last, targets

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.request import Hit

SUPERSEDED_BY = "superseded_by"
AsOf = datetime | None
"""The moment to recall; None: now."""


class Fetched(NamedTuple):
    """Memories that exist and are not forgotten, and which of them are superseded by
    another one.
    """

    memories: Mapping[UUID, Memory] = MappingProxyType({})
    superseded: AbstractSet[UUID] = frozenset()


class Resolution(NamedTuple):
    """What links lead to: the newest successor of each memory on the way, and the memories at the
    ends, none of them forgotten.
    """

    successors: Mapping[UUID, UUID] = MappingProxyType({})
    memories: Mapping[UUID, Memory] = MappingProxyType({})


class LinkTargets(NamedTuple):
    """Where links lead, and the memories that are `wanted` from there but not read yet."""

    successors: Mapping[UUID, UUID]
    wanted: AbstractSet[UUID]

    def with_memories(self, memories: Iterable[Memory]) -> Resolution:
        found = {memory.id: memory for memory in memories if memory.id in self.wanted}
        return Resolution(self.successors, found)


def successors_of(memories: Iterable[Memory]) -> dict[UUID, UUID]:
    """Map each superseded memory to the newest of these memories that supersedes it."""
    found: dict[UUID, UUID] = {}
    for memory in sorted(memories, key=lambda memory: memory.id):
        for link in memory.links:
            if link.kind == SUPERSEDES and link.target != memory.id:
                found[link.target] = memory.id
    return found


def current(memories: Collection[Memory]) -> list[Memory]:
    """Return those that no other of them supersedes, in their order."""
    successors = successors_of(memories)
    return [memory for memory in memories if last(memory.id, successors) == memory.id]


def find_link_targets(
    linked: Collection[Memory], superseded: Collection[UUID], named: Collection[UUID]
) -> LinkTargets:
    """Find where links lead from superseded memories and from the targets of links, given all
    memories that have links.
    """
    successors = successors_of(linked)
    links = {memory.id: memory.links for memory in linked}
    ends = {last(id, successors) for id in superseded}
    linked_to = {*named}.union(*(targets(links.get(id, ())) for id in ends))
    current_ends = {last(id, successors) for id in linked_to}
    return LinkTargets(successors, ends | linked_to | current_ends)


def resolve_successors(
    context: RecallContext, hits: Sequence[Hit], resolution: Resolution
) -> list[Hit]:
    """Replace hits by their successors, each once and at its best place; then add what the other
    links lead to.
    """
    shown: dict[UUID, Hit] = {}
    for hit in hits:
        resolved = _replace_by_successor(context, hit, resolution)
        if resolved is None:
            continue
        former = shown.get(resolved.memory.id)
        if former is not None:
            stands_for = dict.fromkeys((*former.stands_for, *resolved.stands_for))
            resolved = replace(former, stands_for=tuple(stands_for))
        shown[resolved.memory.id] = resolved
    return [_add_targets(context, hit, resolution) for hit in shown.values()]


def _replace_by_successor(context: RecallContext, hit: Hit, resolution: Resolution) -> Hit | None:
    """Return the hit with its successor; None if that is already in the prompt."""
    id = hit.memory.id
    successor = last(id, resolution.successors)
    if successor == id:
        return hit
    if successor in context.request.exclude:
        return None
    memory = resolution.memories.get(successor)
    if memory is None or not context.scope.covers(memory):
        return hit
    return replace(
        hit,
        memory=memory,
        # The words that matched are those of the other text.
        rerank=hit.rerank and hit.rerank._replace(words=()),
        stands_for=(*hit.stands_for, id),
        ranked_as=hit.ranked_as or id,
    )


def _add_targets(context: RecallContext, hit: Hit, resolution: Resolution) -> Hit:
    attached: dict[UUID, Memory] = {}
    pointers: list[Pointer] = []
    successor = last(hit.memory.id, resolution.successors)
    if successor != hit.memory.id and successor in resolution.memories:
        pointers.append(Pointer(SUPERSEDED_BY, successor))  # it may not be shown here
    for link in sorted(hit.memory.links):
        if link.kind == SUPERSEDES:
            continue
        end = last(link.target, resolution.successors)
        memory = resolution.memories.get(end)
        if link.kind == RESOLVED_BY and memory is not None and _may_be_shown(context, hit, memory):
            attached[end] = memory
        else:
            is_dangling = link.target not in resolution.memories
            pointers.append(Pointer(link.kind, link.target, is_dangling))
    return replace(hit, attached=tuple(attached.values()), pointers=tuple(pointers))


def _may_be_shown(context: RecallContext, hit: Hit, memory: Memory) -> bool:
    return memory.id != hit.memory.id and context.may_show(memory)
