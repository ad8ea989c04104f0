"""How many words of a query a memory has."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from recollect.core.memory.memory import Memory
from recollect.core.recall.query_coverage import query_coverage

AT = datetime(2026, 3, 4, tzinfo=UTC)


def test_words_match_in_any_form_and_stop_words_do_not_count() -> None:
    text = "The ferries leave Elba at six."
    memory = Memory(
        id=UUID(int=1), owner="ada", content=text, created_at=AT, updated_at=AT, tags=("timetable",)
    )
    assert query_coverage("when does the ferry leave Corsica?", memory) == (2, 3)
    assert query_coverage("timetable", memory) == (1, 1)
    assert query_coverage("", memory) == (0, 0)
