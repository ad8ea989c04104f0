"""Whether users learn that the embedding model does not cover their languages."""

from __future__ import annotations

import pytest

from recollect.core.admin.languages import describe_uncovered_languages, other_model
from recollect.core.admin.stats import Stats, count_languages
from recollect.core.recall.space import EmbeddingStats


def stats(by_language: dict[str, int], *covered: str) -> Stats:
    embedding = EmbeddingStats("model/3", 0, 0, 0, languages=covered)
    return Stats(100, 0, 0, by_language=by_language, embedding=embedding)


def test_a_language_that_the_model_does_not_cover_is_named_with_its_memories() -> None:
    found = describe_uncovered_languages(stats({"en": 60, "de": 30, "xx": 10}, "en"))
    assert found is not None
    assert "German (30), xx (10)" in found


def test_a_few_memories_in_many_languages_are_named_together() -> None:
    found = describe_uncovered_languages(stats({"en": 97, "de": 1, "fr": 1, "ja": 1}, "en"))
    assert found is not None
    assert "German (1), French (1), Japanese (1)" in found


def test_what_to_do_depends_on_the_model() -> None:
    assert "recollect models get multilingual" in other_model(stats({"de": 9}, "en"))
    embedding = EmbeddingStats("m/3", 0, 0, 0, languages=("en",), embedder="multilingual")
    assert "reembed" not in other_model(Stats(9, 0, 0, embedding=embedding))


@pytest.mark.parametrize(
    "known",
    [
        stats({"en": 60, "de": 40}, "de", "en"),
        stats({"en": 60, "de": 40}),  # nothing is known about the model
        stats({"en": 98, "de": 1, "fr": 1}, "en"),  # two may be wrong guesses
        Stats(
            2, 0, 0, by_language={"de": 2}, embedding=EmbeddingStats("m", 0, 0, 0, None, ("en",))
        ),
        Stats(40, 0, 0, by_language={"de": 40}),  # there is no model
    ],
)
def test_nothing_is_reported_when_every_language_is_covered(known: Stats) -> None:
    assert describe_uncovered_languages(known) is None


def test_a_memory_in_two_languages_counts_for_both() -> None:
    counted = count_languages({"de": 2, "de en": 3, "": 4})
    assert list(counted.items()) == [("de", 5), ("en", 3)]
