"""What a hook injects of a memory that exceeds its budget."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from tests.usecases.agents.injecting import inject

from recollect.core.memory.memory import Memory
from recollect.core.recall.passages import show_passages
from recollect.core.recall.relevance import Measure
from recollect.core.recall.request import Hit, LegPlace, RecallRequest

AT = datetime(2026, 1, 1, tzinfo=UTC)
FILLER = "The weather was fine and nothing else was said about the matter that day. "
FACT = "The ferry to Marblehead leaves at nine."


def test_the_passage_is_injected_instead_of_a_memory_over_the_budget() -> None:
    text = FILLER * 100 + FACT + " " + FILLER * 100
    memory = Memory(id=UUID(int=1), owner="ada", content=text, created_at=AT, updated_at=AT)
    hit = Hit(memory, 1.0, 1.0, 1.0, {"lexical": LegPlace(1, 9.0, 1.0)})

    def find(request: RecallRequest) -> list[Hit]:
        return show_passages([hit], request.query)

    prompt = "When does the ferry to Marblehead leave?"
    (injected,) = inject(find, prompt, measure=Measure(tokens=1_200)).memories
    assert injected.id == memory.id
    assert FACT in injected.content
    assert injected.content.startswith("… ")
    assert injected.content.endswith(" …")
    (whole,) = inject(find, prompt, measure=Measure(tokens=20_000)).memories
    assert whole == memory


def test_a_long_memory_about_something_else_is_not_injected() -> None:
    text = FILLER * 100 + FACT + " " + FILLER * 100
    memory = Memory(id=UUID(int=1), owner="ada", content=text, created_at=AT, updated_at=AT)
    hit = Hit(memory, 1.0, 1.0, 1.0, {"lexical": LegPlace(1, 9.0, 1.0)})
    found = inject(
        lambda request: show_passages([hit], request.query), "Which editor does Ada prefer?"
    )
    assert found.memories == ()
    assert found.below == 1
