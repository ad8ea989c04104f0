"""Whether a memory is sensitive: by the caller's word, else by what its text holds.

The caller's word has three values. True and False are obeyed, whatever the text; unsaid (None in a
draft, not named among changes), a text that looks like a credential makes the memory sensitive.
Since that follows from the text alone, whoever shows an answer can name the reason again, and a
client can know it before it sends anything.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.core.memory import Changes, Draft, Memory
from recollect.core.secrets import Secret, looks_sensitive


def secret_in_draft(draft: Draft) -> Secret | None:
    """What makes the draft sensitive without the caller having said anything."""
    return None if draft.is_sensitive is not None else _secret_in(_texts(draft))


def secret_in_changes(changes: Changes, current: Memory | None = None) -> Secret | None:
    """What makes a memory sensitive that gets these changes, without the caller having said
    anything. A text that `current` has already is not judged again: it may have been overruled.
    """
    if "is_sensitive" in changes:
        return None
    named = (
        changes.get("content", ""),
        *changes.get("tags", ()),
        *changes.get("expanded_keywords", ()),
    )
    known = () if current is None else _texts(current)
    return _secret_in(text for text in named if text.strip() not in known)


def _texts(memory: Draft | Memory) -> tuple[str, ...]:
    """What is searched, embedded and extracted from."""
    return (memory.content, *memory.tags, *memory.expanded_keywords)


def _secret_in(texts: Iterable[str]) -> Secret | None:
    return looks_sensitive("\n".join(texts))
