"""What happens when a text is stored again: it stays one memory, and no information about it is
lost.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Final

from recollect.core.errors import Conflict
from recollect.core.memory.memory import (
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    EPISODE,
    Draft,
    Memory,
)

PlacedText = tuple[str | None, str]
"""A project, if any, and the text of a memory in it."""
# Spaces, punctuation and invisible characters. They are listed, since Postgres has to do the same,
# and there "letter" depends on the locale.
INSIGNIFICANT: Final = (
    r"[\s!-/:-@\[-`{-~\u00a0-\u00bf\u200b-\u206f\u3000-\u3003\u3008-\u3011\u30fb\ufeff]+"
)


def normalize(text: str) -> str:
    """Normalise a text to compare it with erased ones: without case, spaces and punctuation."""
    return re.sub(INSIGNIFICANT, "", unicodedata.normalize("NFKC", text).casefold())


def removal_conflict() -> Conflict:
    """Explain why a copy of a text is not stored if it is older than the removal of that text."""
    return Conflict(
        "the same text was erased, forgotten or replaced since",
        remedy="To have it again, store it as a new memory.",
    )


def can_deduplicate(draft: Draft) -> bool:
    """Whether to look for the draft among stored memories. A turn of a conversation may be said
    twice, and a writer's own id identifies a separate memory.
    """
    return draft.id is None and draft.category != EPISODE


def is_same(memory: Memory, other: Memory) -> bool:
    """Whether two memories say the same in the same project: letter by letter, except for
    whitespace.
    """
    return (
        memory.owner == other.owner
        and memory.project == other.project
        and EPISODE not in (memory.category, other.category)
        and memory.deleted_at is other.deleted_at is None
        and memory.content.split() == other.content.split()
    )


def merge_draft(stored: Memory, again: Memory) -> Memory:
    """Return the stored memory with what storing it again adds: tags, keywords and links are
    merged; importance is raised, never lowered; once sensitive, it stays so. A default category or
    importance counts as not given. A new lifetime replaces the former one; without one, an expired
    memory becomes valid again.
    """
    raised = again.importance if again.importance != DEFAULT_IMPORTANCE else 0.0
    has_category = again.category != DEFAULT_CATEGORY
    has_lifetime = again.valid_from is not None or again.valid_until is not None
    is_expired = stored.valid_until is not None and stored.valid_until <= again.created_at
    lifetime = again if has_lifetime or is_expired else stored
    return replace(
        stored,
        category=again.category if has_category else stored.category,
        tags=_union(stored.tags, again.tags),
        expanded_keywords=_union(stored.expanded_keywords, again.expanded_keywords),
        links=tuple(dict.fromkeys((*stored.links, *again.links))),
        importance=max(stored.importance, raised),
        is_sensitive=stored.is_sensitive or again.is_sensitive,
        valid_from=lifetime.valid_from,
        valid_until=lifetime.valid_until,
    )


def _union(before: tuple[str, ...], added: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *added)))
