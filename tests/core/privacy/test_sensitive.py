"""Who decides that a memory is sensitive: the caller, else the text."""

from __future__ import annotations

import pytest
from tests.core.privacy.secret_samples import some
from tests.strategies import MOMENT

from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import Changes, Draft, Memory
from recollect.core.privacy.sensitive import secret_in_changes, secret_in_draft

TOKEN = "ghp_" + some(36)
PLAIN = "the staging database is read-only on Fridays"


@pytest.mark.parametrize(
    ("draft", "kind"),
    [
        (Draft(PLAIN), None),
        (Draft(f"deploy with {TOKEN}"), "GitHub token"),
        (Draft(PLAIN, tags=("ops", TOKEN)), "GitHub token"),
        (Draft(PLAIN, expanded_keywords=("deploy", TOKEN)), "GitHub token"),
        (Draft(PLAIN, project=TOKEN), "GitHub token"),
        (Draft(PLAIN, session=TOKEN), "GitHub token"),
        (Draft(f"deploy with {TOKEN}", is_sensitive=False), None),
        (Draft(f"deploy with {TOKEN}", is_sensitive=True), None),
    ],
)
def test_a_draft_is_judged_by_its_text_unless_the_caller_decides(
    draft: Draft, kind: str | None
) -> None:
    found = secret_in_draft(draft)
    assert (found.kind if found else None) == kind


def memory(content: str, *tags: str) -> Memory:
    return Memory(
        id=uuid7(MOMENT, bytes(10)),
        owner="me",
        content=content,
        created_at=MOMENT,
        updated_at=MOMENT,
        tags=tags,
    )


@pytest.mark.parametrize(
    ("changes", "current", "found"),
    [
        (Changes(content=f"with {TOKEN}"), memory(PLAIN), True),
        (Changes(tags=(TOKEN,)), memory(PLAIN), True),
        (Changes(expanded_keywords=(TOKEN,)), memory(PLAIN), True),
        (Changes(project=TOKEN), memory(PLAIN), True),
        (Changes(session=TOKEN, project=None), memory(PLAIN), True),
        (Changes(content=PLAIN, importance=0.9), memory("x"), False),
        # The caller's decision takes precedence over the text, whatever it is.
        (Changes(content=f"with {TOKEN}", is_sensitive=False), memory(PLAIN), False),
        (Changes(content=f"with {TOKEN}", is_sensitive=True), memory(PLAIN), False),
        # An existing text was judged, or overruled, when it was stored.
        (Changes(importance=0.9), memory(f"with {TOKEN}"), False),
        (Changes(content=f" with {TOKEN}\n"), memory(f"with {TOKEN}"), False),
        (Changes(tags=(TOKEN, "new")), memory(PLAIN, TOKEN), False),
        # A new text is judged again, even if it holds an old secret.
        (Changes(content=f"now with {TOKEN}"), memory(f"with {TOKEN}"), True),
    ],
)
def test_changes_are_judged_by_the_texts_they_bring(
    changes: Changes, current: Memory, found: bool
) -> None:
    assert (secret_in_changes(changes, current) is not None) is found
