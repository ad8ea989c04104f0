"""What each rule must find, and what it must leave alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.conformance.samples import memory
from tests.strategies import MOMENT

from recollect.core.curation import audit as rules
from recollect.core.curation.audit import Pair

NOW = MOMENT + timedelta(days=400)


def compare(old: str, new: str, **fields: object) -> str | None:
    one, other = memory(1, old), memory(2, new)
    pairs = list(rules.find_word_pairs([one, other]))
    findings = [finding for pair in pairs if (finding := rules.compare_pair(pair)) is not None]
    assert len(findings) <= 1
    return findings[0].kind if findings else None


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("The staging database is read-only", "The staging database is not read-only",
         "contradiction"),
        ("Deploys don't run on Fridays", "Deploys run on Fridays", "contradiction"),
        ("The ledger listens on port 7443", "The ledger listens on port 8443", "contradiction"),
        ("The shop runs on Python 3.11", "The shop runs on Python 3.12", "contradiction"),
        ("The shop database uses Postgres", "The shop database uses MySQL", "contradiction"),
        ("The free plan allows five plants", "From version 3 the free plan allows eight plants",
         "contradiction"),
        ("Ada prefers small pull requests with tests",
         "Ada prefers small pull requests with good tests", "duplicate"),
        ("The harbour opens at six", "Bread is baked with rye flour", None),
        ("The train to the coast leaves at seven", "The train to the hills leaves from Odden",
         None),
        ("The same words", "the same, words", None),
    ],
)  # fmt: skip
def test_pairs(old: str, new: str, kind: str | None) -> None:
    assert compare(old, new) == kind


def test_what_changed_supersedes_what_was() -> None:
    older, newer = memory(1, "The port is 7443 there"), memory(2, "The port is 8443 there")
    finding = rules.compare_pair(Pair(newer, older, 0.9))
    assert finding is not None
    assert finding.ids == (newer.id, older.id)
    assert finding.command == f"recollect link {newer.id} supersedes {older.id}"
    assert finding.reason == "7443 became 8443"


def test_of_two_that_say_nearly_the_same_the_older_is_forgotten() -> None:
    older, newer = memory(1, "The door is blue"), memory(2, "The big door is blue")
    finding = rules.compare_pair(Pair(newer, older, 0.9))
    assert finding is not None
    assert finding.command == f"recollect forget {older.id}"


def test_exact_duplicates_keep_the_most_important() -> None:
    same = [memory(1, "The door  is blue."), memory(2, "the door is blue", importance=0.9)]
    elsewhere = memory(3, "The door is blue", project="other")
    turn = memory(4, "The door is blue", category="episode", session="s")
    (finding,) = rules.find_exact_duplicates([*same, elsewhere, turn])
    assert finding.ids == (same[1].id, same[0].id)
    assert finding.command == f"recollect forget {same[0].id}"


@pytest.mark.parametrize(
    ("content", "is_stale"),
    [
        ("The certificate expires on 2025-01-31", True),
        ("The certificate was made on 2025-01-31", False),
        ("The certificate expires on 2099-01-31", False),
        ("The offer ends by 2025-02-31", False),
        ("We meet tomorrow in the harbour", True),
        ("We meet in the harbour", False),
    ],
)
def test_stale(content: str, *, is_stale: bool) -> None:
    found = rules.stale(memory(1, content), MOMENT.replace(year=2026) + timedelta(days=400))
    assert (found is not None) == is_stale


def test_a_young_memory_is_not_stale() -> None:
    assert rules.stale(memory(1, "We meet tomorrow"), MOMENT + timedelta(days=30)) is None


def test_secrets_by_their_look() -> None:
    text = "deploys sign in with password=Tr0ub4dor&3xyzzy"
    found = rules.find_unguarded_secret(memory(1, text))
    assert found is not None
    assert found.command == f"recollect update {memory(1).id} --sensitive"
    assert "Tr0ub4dor" not in found.reason
    assert rules.find_unguarded_secret(memory(1, text, is_sensitive=True)) is None
    assert rules.find_unguarded_secret(memory(1, "the harbour")) is None


@pytest.mark.parametrize(
    ("days_kept", "is_recalled", "is_found"),
    [(300, False, True), (300, True, False), (100, False, False)],
)
def test_never_recalled(days_kept: int, *, is_recalled: bool, is_found: bool) -> None:
    since = NOW - timedelta(days=days_kept)
    found = rules.find_never_recalled(memory(1), since, NOW, is_recalled=is_recalled)
    assert (found is not None) == is_found
