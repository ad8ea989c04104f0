"""Whether a memory is sensitive: the caller decides, else its text.

A caller can set True or False, which apply whatever the text. If it is unset (None in a draft,
absent from changes), a text that looks like a credential makes the memory sensitive. Since that
follows from the text alone, any shell can state the reason again, and a client can know it before
it sends anything. Every text is checked, including labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from recollect.core.memory.memory import FIELDS, STATED_FIELDS, Changes, Draft, Memory
from recollect.core.privacy.secrets.detect import looks_sensitive
from recollect.core.text.secret import Secret

# Every text that people write about a memory; the category is one of eight words.
TEXT_FIELDS: Final = tuple(
    name for name in STATED_FIELDS if FIELDS[name].kind in ("text", "texts") and name != "category"
)


def secret_in(memory: Memory | Draft) -> Secret | None:
    """Return the most certain secret in any of its texts."""
    return looks_sensitive("\n".join(_texts(memory)))


def secret_in_draft(draft: Draft) -> Secret | None:
    """Return what makes the draft sensitive if the caller did not decide."""
    return None if draft.is_sensitive is not None else secret_in(draft)


def secret_in_changes(changes: Changes, current: Memory | None = None) -> Secret | None:
    """Return what makes a memory with these changes sensitive if the caller did not decide. A text
    that `current` already has is not checked again: it may have been overridden.
    """
    if "is_sensitive" in changes:
        return None
    return looks_sensitive("\n".join(new_texts(changes, current)))


def new_texts(changes: Mapping[str, object], current: Memory | None) -> list[str]:
    """Return the texts among changes that the memory does not have yet."""
    known = () if current is None else _texts(current)
    texts = strings_in([changes[name] for name in TEXT_FIELDS if name in changes])
    return [text for text in texts if text.strip() not in known]


def _texts(memory: Memory | Draft) -> tuple[str, ...]:
    return tuple(strings_in([getattr(memory, name) for name in TEXT_FIELDS]))


def strings_in(value: object) -> Iterable[str]:
    """Yield all texts in a value of mappings and lists, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from strings_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings_in(inner)
