"""An update ranks before what it updates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.conformance.samples import memory

from recollect.core.curation.newer import MAX_COMPARED, REACH, put_newer_first
from recollect.core.recall.request import Hit, NewerThan

OLD = "The billing API runs on port 8000."
NEW = "The billing API moved to port 9000."
QUESTION = "On which port does the billing API run?"
START = datetime(2026, 1, 1, tzinfo=UTC)


def hit(number: int, content: str, days: int = 0, **fields: object) -> Hit:
    stored = memory(number, content, created_at=START + timedelta(days=days), **fields)
    return Hit(stored, 1.0 / number, 1.0, 1.0, {})


def contents(hits: list[Hit]) -> list[str]:
    return [each.memory.content for each in hits]


def test_an_update_ranks_before_what_it_updates_and_says_why() -> None:
    other = hit(2, "Ada prefers tea.", 3)
    found = put_newer_first([hit(1, OLD), other, hit(3, NEW, 9)], QUESTION)
    assert contents(found) == [NEW, OLD, other.memory.content]
    older = found[1].memory.id
    assert found[0].newer_than == NewerThan(older, "8000 became 9000")
    assert [each.newer_than for each in found[1:]] == [None, None]


@pytest.mark.parametrize(
    "hits",
    [
        pytest.param([hit(1, NEW, 9), hit(2, OLD)], id="already in order"),
        pytest.param([hit(1, OLD, 9), hit(2, NEW)], id="the change is older"),
        pytest.param([hit(1, OLD), hit(2, NEW)], id="at the same time"),
        pytest.param([hit(1, OLD), hit(2, NEW, 9, project="shop")], id="another project"),
        pytest.param([hit(1, OLD), hit(2, "The mail API runs on port 25.", 9)], id="another API"),
        pytest.param([hit(1, "Ada likes tea."), hit(2, "Ben likes tea.", 9)], id="only similar"),
        pytest.param([hit(1, OLD), hit(2, "x" * 5_000 + NEW, 9)], id="a long text"),
        pytest.param([hit(1, OLD)], id="one hit"),
        pytest.param([], id="none"),
    ],
)
def test_others_keep_their_order(hits: list[Hit]) -> None:
    assert put_newer_first(hits, QUESTION) == hits


def test_a_chain_of_updates_is_in_order() -> None:
    texts = [f"The billing API moved to port {port}." for port in (8000, 8100, 8200)]
    found = put_newer_first([hit(at + 1, text, at) for at, text in enumerate(texts)], QUESTION)
    assert contents(found) == texts[::-1]


def test_only_what_says_that_it_changes_something_moves_up_from_further_down() -> None:
    others = [hit(10 + number, f"Note about topic {number}", 1) for number in range(MAX_COMPARED)]
    moved, plain = hit(2, NEW, 9), hit(2, "The billing API runs on port 9000.", 9)
    assert put_newer_first([hit(1, OLD), *others, moved], QUESTION)[0].memory == moved.memory
    hits = [hit(1, OLD), *others, plain]
    assert put_newer_first(hits, QUESTION) == hits
    more = [hit(20 + number, f"Note about subject {number}", 1) for number in range(REACH)]
    hits = [hit(1, OLD), *more, moved]
    assert put_newer_first(hits, QUESTION) == hits


# Asked a question that both answer, less is needed than for a proposal.
ANSWERS = [
    # newer, older, question
    ("I moved to Basel in spring.", "I live in Ulm.", "Where do I live?"),
    ("Lint with Ruff instead of Flake8.", "For lint checks we use Flake8.",
     "What do we lint with?"),
    ("Correction: Ida's flight is on June 4th.", "Ida's flight is on June 14th.",
     "When is Ida's flight?"),
    ("As of today Noor is on duty for the gateway.", "Piet is on duty for the gateway.",
     "Who is on duty for the gateway?"),
    ("Actually, we name branches by ticket.", "We name branches by author.",
     "How do we name branches?"),
    ("The parking permit was extended until May 2031.", "The parking permit ends in 2028.",
     "When does the parking permit end?"),
    ("Release notes live in Notion, the changelog file is gone.",
     "Release notes are in the changelog file of the repository.", "Where are the release notes?"),
    ("I sold the Vespa and ride a bicycle.", "My scooter is a red Vespa.", "What do I ride?"),
    ("I have a new landlord, Mr. Brandt.", "My landlord is Mrs. Kuhn from Calw.",
     "Who is my landlord?"),
    ("The parser was rewritten in Zig.", "The parser is written in Lua.",
     "What is the parser written in?"),
    ("Our tests run in Docker.", "Our tests run in a virtual machine.", "How do our tests run?"),
    ("I moved the weekly report to Tuesdays.", "The weekly report is sent on Fridays.",
     "When is the weekly report sent?"),
    ("We bumped the minimum Python version to 3.12.", "The minimum Python version is 3.10.",
     "Which Python is the minimum?"),
    ("Kim handed the design system over to Omar.", "Kim owns the design system.",
     "Who owns the design system?"),
    ("We swapped MinIO for Garage.", "Attachments are stored in MinIO.",
     "Where are attachments stored?"),
    ("The billing service was renamed to Ledger.", "Abacus is our billing service.",
     "What is the billing service called?"),
    ("The kiosk tablets became Android tablets.", "The kiosk tablets run Windows.",
     "What do the kiosk tablets run?"),
    ("Die Abgabe wurde auf Freitag verschoben.", "Die Abgabe ist am Mittwoch.",
     "Wann ist die Abgabe?"),
    ("Wir sind von Jenkins zu GitHub Actions gewechselt.", "Die Builds laufen in Jenkins.",
     "Wo laufen die Builds?"),
    ("Wir testen ab sofort mit Firefox.", "Wir testen mit Chrome.", "Womit testen wir?"),
]  # fmt: skip


@pytest.mark.parametrize(("newer", "older", "question"), ANSWERS)
def test_the_newer_of_two_answers_comes_first(newer: str, older: str, question: str) -> None:
    found = put_newer_first([hit(1, older), hit(2, newer, 9)], question)
    assert contents(found) == [newer, older]
    assert found[0].newer_than is not None


@pytest.mark.parametrize(
    ("newer", "older", "question"),
    [
        ("I moved my books to the attic.", "I moved to Ulm in 2019.", "Where do I live?"),
        ("The parser was rewritten in Zig.", "The parser listens on port 70.", "Which port is it?"),
        ("I no longer drink beer.", "I drink water at work.", "What do I drink?"),
        ("Bea runs the sales team.", "Kim runs the legal team.", "Who runs the legal team?"),
        (
            "The desk of the new lease changed.",
            "The lease ends in May.",
            "When does the lease end?",
        ),
        ("Ben likes tea.", "Ada likes tea.", "Who likes tea?"),
        ("Ida took over the newsletter from Paul.", "Paul lives in Ulm.", "Where does Paul live?"),
        ("Kim moved her desk to the window.", "Kim's desk is white.", "What colour is the desk?"),
        ("I set the upload timeout to 60 seconds.", "The upload folder is /srv.", "Which folder?"),
        ("Ada: Thanks, Benedict!", "Ada: Thanks, Ben!", "What does Ada thank for?"),
    ],
)
def test_another_fact_about_something_similar_stays(newer: str, older: str, question: str) -> None:
    hits = [hit(1, older), hit(2, newer, 9)]
    assert put_newer_first(hits, question) == hits
