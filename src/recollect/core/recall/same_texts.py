"""Hits that say the same: one is shown, and says how many more there are like it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.core.recall.request import Hit


def join_same_texts(hits: Sequence[Hit]) -> list[Hit]:
    """The hits with each text once, at its best place. Texts are the same letter by letter, except
    for case and whitespace. A sensitive memory does not stand for one that is not: it may not be
    shown everywhere.
    """
    shown: dict[tuple[bool, str], Hit] = {}
    for hit in hits:
        memory = hit.memory
        key = (memory.is_sensitive, " ".join(memory.content.casefold().split()))
        first = shown.get(key)
        if first is None:
            shown[key] = hit
        else:
            same = dict.fromkeys((*first.duplicates, memory.id, *hit.duplicates))
            same.pop(first.memory.id, None)
            shown[key] = replace(first, duplicates=tuple(same))
    return list(shown.values())
