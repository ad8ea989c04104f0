"""Late interaction: how a memory's tokens change its score, and the words that match."""

from __future__ import annotations

import pytest

from recollect.core.recall.late import (
    TOKEN_WEIGHT,
    TokenMatch,
    TokenVectors,
    combine,
    similar_words,
    widen_to_words,
)
from recollect.core.recall.request import RerankPlace, WordMatch


def test_tokens_reorder_equal_scores() -> None:
    low, middle, high = combine([5.0, 5.0, 5.0], [0.1, 0.5, 0.9])
    assert low < middle < high


def test_tokens_leave_what_stands_out_first() -> None:
    first, *others = combine([100.0, 5.0, 4.0, 3.0], [0.4, 0.6, 0.5, 0.5])
    assert first > max(others)


def test_equal_tokens_change_no_score() -> None:
    assert combine([3.0, 2.0, 1.0], [0.7, 0.7, 0.7]) == pytest.approx([3.0, 2.0, 1.0])


def test_tokens_count_less_the_less_the_model_is_trusted() -> None:
    fully, little, never = (combine([2.0, 1.0], [0.1, 0.9], trust) for trust in (1.0, 0.2, 0.0))
    assert fully[1] > little[1] > never[1] == 1.0


def test_one_memory_keeps_its_score() -> None:
    assert combine([3.0], [0.2]) == [3.0]


def test_a_factor_does_not_depend_on_the_scale_of_either_score() -> None:
    once = combine([3.0, 2.0, 1.0], [0.2, 0.9, 0.3])
    again = combine([30.0, 20.0, 10.0], [1.2, 1.9, 1.3])
    assert again == pytest.approx([10 * score for score in once])


def test_a_score_of_nothing_stays_nothing() -> None:
    assert combine([1.0, 0.0], [0.1, 0.9])[1] == 0.0


def test_no_deviation_is_worth_more_than_a_few_times_a_score() -> None:
    # 50 candidates, of which one matches: seven deviations above the mean.
    (best, *_) = combine([1.0] * 50, [1.0, *[0.0] * 49])
    assert 1.0 < best < 20.0
    assert TOKEN_WEIGHT < 1.0


def test_similar_words_names_the_most_telling_word_first() -> None:
    found = similar_words(
        "red dog",
        [TokenMatch(0, 3, 10, 13, 0.9, 0.1), TokenMatch(4, 7, 20, 25, 0.8, 0.9)],
    )
    assert found == (WordMatch("dog", 20, 25, 0.8, 0.9), WordMatch("red", 10, 13, 0.9, 0.1))


def test_similar_words_joins_the_tokens_of_a_word() -> None:
    # "embeddings" as embed + ding + s, matched by the same word in the memory
    (word,) = similar_words(
        "embeddings",
        [
            TokenMatch(0, 5, 30, 35, 0.9, 0.5),
            TokenMatch(5, 9, 35, 39, 0.9, 0.3),
            TokenMatch(9, 10, 39, 40, 0.6, 0.2),
        ],
    )
    assert (word.word, word.start, word.end) == ("embeddings", 30, 40)
    assert word.similarity == pytest.approx(0.84)
    assert word.weight == pytest.approx(1.0)


def test_similar_words_shows_the_best_token_if_a_word_matches_several_places() -> None:
    (word,) = similar_words(
        "embeddings", [TokenMatch(0, 5, 30, 35, 0.9, 0.5), TokenMatch(5, 10, 80, 85, 0.3, 0.5)]
    )
    assert (word.start, word.end) == (30, 35)


def test_similar_words_leaves_out_stop_words_and_marks_and_what_is_not_alike() -> None:
    found = similar_words(
        "dog of war?",
        [
            TokenMatch(0, 3, 10, 13, 0.9, 0.5),
            TokenMatch(4, 6, 20, 22, 0.9, 0.1),
            TokenMatch(7, 10, 24, 27, 0.2, 0.2),
            TokenMatch(10, 11, 30, 31, 0.9, 0.2),
        ],
    )
    assert [word.word for word in found] == ["dog"]


def tokens(query: str, *pieces: str) -> list[TokenMatch]:
    found: list[TokenMatch] = []
    at = 0
    for piece in pieces:
        at = query.index(piece, at)
        found.append(TokenMatch(at, at + len(piece), at, at + len(piece), 0.9, 0.2))
        at += len(piece)
    return found


@pytest.mark.parametrize(
    ("query", "pieces", "words"),
    [
        (
            "wer prüft die Rechnungen",
            ("we", "r", "pr", "üft", "die", "Rechnung", "en"),
            ["prüft", "Rechnungen"],
        ),
        (
            "was ist das Ziel der Reise",
            ("was", "ist", "das", "Ziel", "der", "Reise"),
            ["Ziel", "Reise"],
        ),
        ("what do they die of", ("what", "do", "they", "die", "of"), ["die"]),
    ],
)
def test_similar_words_are_whole_and_no_stop_words_of_the_query_s_language(
    query: str, pieces: tuple[str, ...], words: list[str]
) -> None:
    assert sorted(word.word for word in similar_words(query, tokens(query, *pieces))) == sorted(
        words
    )


def test_similar_words_of_nothing_is_empty() -> None:
    assert similar_words("", []) == ()


def test_a_match_is_widened_to_the_whole_word() -> None:
    place = RerankPlace(1.0, 1, (WordMatch("ship", 7, 9, 0.8, 1.0),))
    widened = widen_to_words(place, "on the shipping day")
    assert widened is not None
    assert [(word.start, word.end) for word in widened.words] == [(7, 15)]
    assert widen_to_words(None, "anything") is None


def test_token_vectors_are_cut_at_a_character() -> None:
    tokens = TokenVectors(1, ((0, 2), (3, 5), (6, 9)), bytes(range(12)))
    assert tokens.before(5) == TokenVectors(1, ((0, 2), (3, 5)), bytes(range(8)))
    assert tokens.before(4) == TokenVectors(1, ((0, 2),), bytes(range(4)))
    assert tokens.before(0) == TokenVectors(1, (), b"")
    assert tokens.before(100) == tokens
