"""What becomes of a text that is stored again: it stays one memory, and nothing that was said of it
is lost.
"""

from __future__ import annotations

from dataclasses import replace

from recollect.core.memory.memory import (
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    EPISODE,
    Draft,
    Memory,
)


def may_be_repeated(draft: Draft) -> bool:
    """Whether a draft is looked for among what is stored. A turn of a conversation may be said
    twice, and an id of the writer's own stands for a memory of its own.
    """
    return draft.id is None and draft.category != EPISODE


def is_same(memory: Memory, other: Memory) -> bool:
    """Whether two memories say the same in the same project: letter by letter, but for spaces and
    line ends.
    """
    return (
        memory.owner == other.owner
        and memory.project == other.project
        and EPISODE not in (memory.category, other.category)
        and memory.deleted_at is other.deleted_at is None
        and memory.content.split() == other.content.split()
    )


def with_what_was_said(stored: Memory, again: Memory) -> Memory:
    """The stored memory with what storing it again adds: tags, keywords and links join the others;
    importance is raised, never lowered; sensitive it becomes and stays. A category or an importance
    that is the default was not said.
    """
    raised = again.importance if again.importance != DEFAULT_IMPORTANCE else 0.0
    is_said = again.category != DEFAULT_CATEGORY
    return replace(
        stored,
        category=again.category if is_said else stored.category,
        tags=_joined(stored.tags, again.tags),
        expanded_keywords=_joined(stored.expanded_keywords, again.expanded_keywords),
        links=tuple(dict.fromkeys((*stored.links, *again.links))),
        importance=max(stored.importance, raised),
        is_sensitive=stored.is_sensitive or again.is_sensitive,
    )


def _joined(before: tuple[str, ...], added: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *added)))
