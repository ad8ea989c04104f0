"""How one memory relates to another, by rules."""

from __future__ import annotations

import pytest

from recollect.core.curation.newer import MIN_CONFIDENCE
from recollect.core.curation.pairs import MAX_QUOTE, MAX_TEXT, compare

CHANGES = [
    # newer, older
    ("The API moved to port 9000.", "The API runs on port 8000."),
    (
        "With release 4.18 the image of orders-api moved to Python 3.12.",
        "orders-api runs on Python 3.10 in production.",
    ),
    (
        "I've been using my Fitbit Charge 3 for 9 months now.",
        "By the way, I've been using my Fitbit Charge 3 for 6 months now.",
    ),
    (
        "Actually, I need 120 stars to reach the gold level.",
        "I need 125 stars to reach the gold level on the rewards app.",
    ),
    (
        "Since September the free shipping threshold for Germany is 59 EUR.",
        "Free shipping in Germany starts at a threshold of 49 EUR.",
    ),
    (
        "Ab Oktober 2025 hat Mia ihre Klavierstunde donnerstags um 17:15 bei Frau Sommer.",
        "Mias Klavierstunde ist dienstags um 16:30 bei Frau Sommer: Mia, Klavierstunde.",
    ),
    (
        "Desde octubre las reuniones con el director, Ferrán, son los jueves a las 12:30.",
        "Las reuniones con el director, Ferrán, son los lunes a las 10:00.",
    ),
    (
        "2025年10月1日からプレミアムの月額を580円に値上げした。",
        "プレミアムの月額は480円。",
    ),
    (
        "从2025年9月起，项目例会改到每周五上午九点，仍用腾讯会议。",
        "项目例会定在每周三下午四点，使用腾讯会议。",
    ),
    (
        "Теперь сервер базы данных работает на порту 5433.",
        "Сервер базы данных работает на порту 5432.",
    ),
    (
        "Désormais le serveur de production utilise le port 9000 du routeur.",
        "Le serveur de production utilise le port 8000 du routeur.",
    ),
]


SHORT_CHANGES = [
    # newer, older, what is said about it
    ("The API moved to 9000", "The API runs on port 8000", "it says 'moved to'"),
    ("The API runs on port 9000", "The API runs on port 8000", "8000 became 9000"),
    ("The database uses Postgres 16", "The database uses Postgres 15", "15 became 16"),
    ("The timeout is 60 seconds", "The timeout is 30 seconds", "30 became 60"),
    ("The release date is 2026-06-01", "The release date is 2026-05-01",
     "2026-05-01 became 2026-06-01"),
    ("Deploys run at 16:00", "Deploys run at 14:00", "14:00 became 16:00"),
    ("We deploy with Jenkins on Thursdays", "We deploy with Jenkins on Tuesdays",
     "Tuesdays became Thursdays"),
    ("Dark mode is off by default", "Dark mode is on by default", "on became off"),
    ("My favourite editor is Emacs", "My favourite editor is Vim", "Vim became Emacs"),
    ("The on-call lead is Bob since May", "The on-call lead is Alice", "Alice became Bob"),
    ("We no longer use npm for builds", "We use npm for builds", "it says 'no longer'"),
    ("The staging server was renamed from Apollo to Zeus", "The staging server is called Apollo",
     "it says 'renamed'"),
    ("Der Server läuft jetzt auf Port 9000", "Der Server läuft auf Port 8000", "8000 became 9000"),
    ("Le serveur utilise Postgres 16", "Le serveur utilise Postgres 15", "15 became 16"),
    ("El equipo se reúne los jueves", "El equipo se reúne los martes", "martes became jueves"),
]  # fmt: skip


@pytest.mark.parametrize(("newer", "older", "reason"), SHORT_CHANGES)
def test_the_same_short_sentence_with_another_value(newer: str, older: str, reason: str) -> None:
    decision = compare(newer, older)
    assert decision is not None
    assert (decision.kind, decision.reason) == ("supersedes", reason)
    assert decision.confidence >= MIN_CONFIDENCE


@pytest.mark.parametrize(("newer", "older"), CHANGES)
def test_a_changed_value_supersedes_the_older_one(newer: str, older: str) -> None:
    decision = compare(newer, older)
    assert decision is not None
    assert decision.kind == "supersedes"
    assert 0.0 < decision.confidence < 1.0
    assert decision.newer_quote in newer
    assert decision.older_quote in older


def test_without_a_later_date_it_is_unclear_which_holds() -> None:
    decision = compare("The API moved to port 9000.", "The API runs on port 8000.", is_later=False)
    assert decision is not None
    assert decision.kind == "contradicts"


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("the staging db is READ-ONLY on Fridays", "The staging DB is read-only on Fridays."),
        ("user: Thanks a lot, see you!", "Thanks a lot. See you"),
    ],
)
def test_the_same_words_are_a_duplicate(newer: str, older: str) -> None:
    decision = compare(newer, older)
    assert decision is not None
    assert (decision.kind, decision.confidence) == ("duplicate_of", 1.0)


def test_nearly_the_same_words_with_the_same_details_are_a_duplicate() -> None:
    decision = compare(
        "Deploys to the staging cluster of Berlin always need an approval.",
        "Deploys to the staging cluster of Berlin need approval.",
    )
    assert decision is not None
    assert decision.kind == "duplicate_of"


def test_close_meaning_is_a_duplicate_only_with_the_same_details() -> None:
    newer = "Counts below the minimum are masked in every export."
    older = "Table cells with few patients must be suppressed before sharing."
    assert compare(newer, older) is None
    decision = compare(newer, older, closeness=0.97)
    assert decision is not None
    assert decision.kind == "duplicate_of"
    assert compare(f"{newer} Ask Lin.", older, closeness=0.97) is None


def test_a_longer_statement_refines_a_shorter_one() -> None:
    decision = compare(
        "The nightly backup of the warehouse writes encrypted archives for audits.",
        "The nightly backup of the warehouse writes archives.",
    )
    assert decision is not None
    assert decision.kind == "refines"


def test_a_negation_contradicts() -> None:
    decision = compare(
        "Interns may not merge pull requests into the release branch.",
        "Interns may merge pull requests into the release branch.",
    )
    assert decision is not None
    assert decision.kind == "contradicts"


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        # Another subject with the same frame.
        ("The invoice service runs on port 9000.", "The search service runs on port 8000."),
        ("Berlin has 3.7 million inhabitants.", "Hamburg has 1.9 million inhabitants."),
        ("Invoice 1002 was paid by Anna", "Invoice 1001 was paid by Anna"),
        ("Bob lives in Berlin", "Alice lives in Berlin"),
        ("We fixed ticket 1002", "We fixed ticket 1001"),
        # It happened twice.
        ("Anna visited Paris", "Anna visited Berlin"),
        ("Ada met Bob on 4 May", "Ada met Bob on 3 May"),
        # Both may hold.
        ("Anna is kind", "Anna is tall"),
        ("The API is stable", "The API is fast"),
        ("The billing service moved to Kubernetes", "The billing service listens on port 8000"),
        # Values of different things.
        ("The cache holds 500 entries.", "The cache is cleared after 20 minutes."),
        ("I ordered two pizzas on Friday.", "My flight leaves at 7:30 am."),
        ("Never push to main.", "The museum is closed on Mondays."),
        # Documents with a title are more than one statement.
        ("Samoa\nIt has 200,000 inhabitants now.", "Samoa\nIt has 190,000 inhabitants."),
    ],
)
def test_unrelated_statements_are_both_retained(newer: str, older: str) -> None:
    assert compare(newer, older) is None


def test_long_texts_are_not_compared() -> None:
    text = "The API moved to port 9000. " * 60
    assert len(text) > MAX_TEXT
    assert compare(text, "The API runs on port 8000.") is None


def test_quotes_are_bounded() -> None:
    tail = " and the gateway in front of it" * 20
    decision = compare(f"The API moved to port 9000{tail}.", f"The API runs on port 8000{tail}.")
    assert decision is not None
    assert max(len(decision.newer_quote), len(decision.older_quote)) <= MAX_QUOTE
