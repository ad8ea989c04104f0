"""The floor: an unrelated prompt does not retrieve a memory."""

from __future__ import annotations

import pytest
from tests.conformance.samples import memory

from recollect.core.recall.relevance import (
    FLOOR,
    MEANING_FLOOR,
    is_relevant,
    relevance,
    stem,
)
from recollect.core.recall.request import Hit, LegPlace

FRIDAY = "The staging database is read-only on Fridays."


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Can I write to the staging database on a Friday?", FRIDAY),
        ("is the staging database up?", FRIDAY),
        ("Install the packages of the web frontend", "We use pnpm, not npm, for the web frontend."),
        ("deploy to staging", "Deploys to staging go through the blue pipeline."),
    ],
)
def test_related_prompts_clear_the_floor(prompt: str, text: str) -> None:
    assert relevance(prompt, text) >= FLOOR


@pytest.mark.parametrize(
    "prompt",
    [
        "continue",
        "fix the failing test",
        "yes",
        "",
        "??",
        "what does this error mean?",
        "thanks",
        "write a poem about the sea on a sunny friday morning please",
        "run it again",
    ],
)
def test_unrelated_prompts_stay_below_the_floor(prompt: str) -> None:
    assert relevance(prompt, FRIDAY) < FLOOR


def test_relevance_is_0_with_nothing_in_common() -> None:
    assert relevance("violin lessons", FRIDAY) == 0.0


def test_relevance_is_the_sum_it_documents() -> None:
    # Two of two telling words, once each, in a text of two words.
    dampened = 1.2 * (1 - 0.75 + 0.75 * 2 / 60)
    word = 1 * 2.2 / (1 + dampened)
    assert relevance("staging database", "staging database") == pytest.approx(
        2 * word * (1 + 1 / 2)
    )


def test_relevance_is_lower_for_a_longer_text() -> None:
    prompt = "staging database friday"
    assert relevance(prompt, FRIDAY) > relevance(prompt, FRIDAY + " padding" * 300)


def _make_dense_hit(evidence: float) -> Hit:
    place = LegPlace(1, 0.5, 1.0, evidence=evidence)
    return Hit(memory(1, FRIDAY), 1.0, 1.0, 1.0, {"dense": place})


def test_evidence_of_the_meaning_clears_the_floor() -> None:
    assert is_relevant("when may rows be changed?", _make_dense_hit(MEANING_FLOOR))
    assert not is_relevant("when may rows be changed?", _make_dense_hit(MEANING_FLOOR - 0.01))


def test_words_add_to_the_meaning_but_do_not_replace_it() -> None:
    prompt = "staging database friday"
    assert relevance(prompt, FRIDAY) >= FLOOR
    assert is_relevant(prompt, _make_dense_hit(MEANING_FLOOR - 0.05))
    assert not is_relevant(prompt, _make_dense_hit(0.2))


def test_relevance_counts_keywords_and_tags() -> None:
    one = memory(1, "Ask Ada.", expanded_keywords=("printer", "toner"), tags=("office",))
    assert is_relevant("printer toner", Hit(one, 1.0, 1.0, 1.0, {}))


@pytest.mark.parametrize(
    ("forms"),
    [
        ("deploy", "deploys", "deployed", "deploying"),
        ("database", "databases"),
        ("query", "queries"),
        ("run", "running"),
        ("fail", "failing", "failed"),
    ],
)
def test_stem_is_the_same_for_all_forms_of_a_word(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Wie ist das Wetter heute in der Stadt?", "Die Deployments laufen in der Nacht."),
        ("¿Cuál es la capital de Francia?", "La base de datos de la tienda es de solo lectura"),
        ("今日の天気はどうですか", "デプロイは金曜日にはしないことです"),
    ],
)
def test_words_that_every_sentence_has_say_nothing_in_any_language(prompt: str, text: str) -> None:
    assert relevance(prompt, text) == 0.0
