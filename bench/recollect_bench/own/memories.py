"""A user's own memories as an evaluation set.

Measurements run on a copy in a temporary store; the user's store is only read. Sensitive memories
and those that seem to contain a credential are left out: they are not copied, asked about or
embedded. The copy has only contents: paraphrases are built from expanded keywords and tags, which
would turn them into exact questions.

The report can be shown to others: it has counts and figures, but no text and no id.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from recollect import __version__
from recollect.core.errors import InvalidInput
from recollect.core.memory.listing import MAX_PAGE
from recollect.core.memory.memory import EVERYWHERE, Memory
from recollect.core.privacy.sensitive import secret_in
from recollect.ports.service import Service
from recollect_bench.data.datasets import Document, EvaluationSet, Question
from recollect_bench.own.labels import Label

NAME: Final = "own"


@dataclass(frozen=True, slots=True)
class OwnMemories:
    """The memories that take part, and how many do not."""

    memories: Mapping[str, Memory]
    sensitive: int


async def read_own(recollect: Service, page_size: int = MAX_PAGE) -> OwnMemories:
    """Read every memory in the store; count the sensitive ones and leave them out."""
    found: dict[str, Memory] = {}
    sensitive, cursor = 0, None
    while True:
        page = await recollect.page(EVERYWHERE, cursor, page_size)
        for memory in page.memories:
            if takes_part(memory):
                found[str(memory.id)] = memory
            else:
                sensitive += 1
        cursor = page.next_cursor
        if cursor is None:
            break
    return OwnMemories(found, sensitive)


def takes_part(memory: Memory) -> bool:
    """Whether the memory is used. One marked as not sensitive is left out, too, if its text looks
    like a secret.
    """
    return not memory.is_sensitive and secret_in(memory) is None


def evaluation_set(own: OwnMemories, labels: Sequence[Label]) -> EvaluationSet:
    """Build the set of accepted questions over all memories that take part."""
    if not own.memories:
        raise InvalidInput(
            f"the store has no memory to ask about ({own.sensitive} sensitive)",
            field="own",
            remedy="Store some memories first; sensitive ones are left out.",
        )
    asked = [label for label in labels if label.counts]
    if not asked:
        raise InvalidInput(
            "no question about your memories was confirmed",
            field="own",
            remedy="Run `recollect bench own` and confirm some. --yes accepts all; with --ask you "
            "write some yourself.",
        )
    documents = tuple(
        Document(id, memory.content, time=memory.created_at.isoformat())
        for id, memory in own.memories.items()
    )
    digest = hashlib.sha256(
        repr((documents, [(label.text, label.gold) for label in asked])).encode()
    )
    return EvaluationSet(
        name=NAME,
        documents=documents,
        questions=tuple(Question(label.id, label.text, label.stratum) for label in asked),
        gold={label.id: dict.fromkeys(label.gold, 1) for label in asked},
        digest=digest.hexdigest(),
    )


def counts(own: OwnMemories, labels: Sequence[Label]) -> dict[str, Any]:
    """Return the counts that the report shows as its provenance."""
    states = Counter(label.state for label in labels)
    return {
        "version": __version__,
        "memories": len(own.memories),
        "sensitive_left_out": own.sensitive,
        "confirmed": states["confirmed"],
        "taken_unconfirmed": states["taken"],
        "struck": states["struck"],
    }
