"""Which memories stand for the user: preferences, decisions and corrections in the user's words.

An agent is meant to honor them, so no agent, program or file may make one. The tag `standing` is
the mark. It is set where a person chose the text: in a prompt that was captured, on the page, or in
a command typed at a terminal. There a person may also set or remove it by hand. Every other writer
can only lose it, by changing the text (ADR 0064).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory

STANDING: Final = "standing"
STANDING_CATEGORIES: Final = ("preference", "decision", "lesson")
# The shells in which a person chooses the text, as the history names them.
PERSONAL_SHELLS: Final = ("hook", "page", "terminal")


def is_person(actor: str | None) -> bool:
    """Whether a version's writer is a person, by the name in the history."""
    return (actor or "").partition(" (")[0] in PERSONAL_SHELLS


def is_standing(memory: Memory) -> bool:
    return STANDING in memory.tags


def without_standing(memory: Memory) -> Memory:
    return replace(memory, tags=tuple(tag for tag in memory.tags if tag != STANDING))


def with_standing(new: Memory, former: Memory | None, actor: str | None) -> Memory:
    """Return the new version of a memory, with or without the tag; `actor` writes it."""
    is_new_text = former is None or former.content != new.content
    if not is_person(actor):
        stays = former is not None and is_standing(former) and not is_new_text
        return new if stays else without_standing(new)
    if is_new_text and new.category in STANDING_CATEGORIES and not is_standing(new):
        return replace(new, tags=(*new.tags, STANDING))
    return new
