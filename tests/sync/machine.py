"""The model behind the state machine: what was written, by whom, and over what.

Every write carries a token that occurs nowhere else. A token is *superseded* when a client that had
seen it overwrote, forgot or erased it, or decided a conflict against it. All others must be found:
in a current memory or in a stored revision.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from uuid import UUID

from tests.sync.clients import texts

from recollect.core.memory.memory import Memory
from recollect.core.sync.model import Outgoing, Pushed, Revision, State

TOKEN = re.compile(r"\bzq[ps]\d+\b")


def tokens_in(*values: object) -> set[str]:
    return set(TOKEN.findall(texts(values)))


def tokens_of(memory: Memory) -> set[str]:
    return tokens_in(State(memory).fields)


@dataclass
class Ledger:
    """Tracks what must still exist at the end."""

    numbers: count[int] = field(default_factory=lambda: count(1))
    memory_of: dict[str, UUID] = field(default_factory=dict)
    superseded: set[str] = field(default_factory=set)
    delivered: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)
    by_memory: dict[UUID, set[str]] = field(default_factory=lambda: defaultdict(set))

    def token(self, *, sensitive: bool = False) -> str:
        return f"zq{'s' if sensitive else 'p'}{next(self.numbers)}"

    def record_write(self, memory: Memory, *tokens: str) -> None:
        for token in tokens:
            self.memory_of[token] = memory.id
            self.by_memory[memory.id].add(token)

    def spy(self, items: Sequence[Outgoing], revisions: Sequence[Revision], pushed: Pushed) -> None:
        """Record what was sent, and what of it the server accepted."""
        self.sent |= tokens_in([item.fields for item in items], [r.fields for r in revisions])
        edits = {item.id: item for item in items}
        for answer in pushed.answers:
            item = edits[answer.id]
            if answer.remote is not None and answer.remote.edit == item.edit:
                self.delivered |= tokens_in(item.fields)
        for accepted in pushed.revisions:
            self.delivered |= tokens_in(accepted.revision.fields)

    def must_be_found(self, erased: set[UUID]) -> set[str]:
        """Return the live tokens. Erasing a memory erases all of it that the server had."""
        erased_tokens = {t for t in self.delivered if self.memory_of[t] in erased}
        return self.memory_of.keys() - self.superseded - erased_tokens
