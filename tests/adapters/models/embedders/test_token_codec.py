"""Token vectors in their compact form: what is stored, what is read back, what is rejected."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.adapters.models.embedders.local_models import LOCAL_MODELS
from recollect.adapters.models.embedders.token_codec import ScalarCodec, load_codec
from recollect.core.recall.late import TokenVectors

WIDTH = 64


def make_codec(seed: int = 1) -> ScalarCodec:
    random = np.random.default_rng(seed)
    directions = np.linalg.qr(random.normal(size=(WIDTH, WIDTH)))[0]
    spread = np.full(WIDTH, 1 / np.sqrt(WIDTH))
    return ScalarCodec(np.full(WIDTH, 0.001), directions, spread)


def make_tokens(count: int, seed: int = 2) -> TokenVectors:
    vectors = np.random.default_rng(seed).normal(size=(count, WIDTH))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spans = tuple((5 * place, 5 * place + 4) for place in range(count))
    return TokenVectors(WIDTH, spans, vectors.astype("<f4").tobytes())


TEXT = " ".join(f"{number:04}" for number in range(10_000))


def select_tokens(tokens: TokenVectors, *places: int) -> TokenVectors:
    size = 4 * tokens.dimension
    values = b"".join(tokens.values[size * place : size * (place + 1)] for place in places)
    return TokenVectors(tokens.dimension, tuple(tokens.spans[place] for place in places), values)


def test_a_token_finds_itself() -> None:
    codec, tokens = make_codec(), make_tokens(40)
    query = select_tokens(tokens, 7, 31)
    (found,) = codec.compare(TEXT, query, [codec.encode(TEXT, tokens)])
    assert found is not None
    assert [(match.start, match.end) for match in found.matches] == [(35, 39), (155, 159)]
    assert all(match.similarity > 0.9 for match in found.matches)
    assert found.score == pytest.approx(1.0, abs=0.1)


def test_a_memory_with_the_words_of_the_query_is_ahead_of_one_without() -> None:
    codec, tokens = make_codec(), make_tokens(40)
    query = select_tokens(tokens, 7, 31)
    others = codec.encode(TEXT, make_tokens(40, seed=3))
    same, other = codec.compare(TEXT, query, [codec.encode(TEXT, tokens), others])
    assert same is not None
    assert other is not None
    assert same.score > other.score


def test_matches_of_a_passage_are_placed_in_the_content() -> None:
    codec, tokens = make_codec(), make_tokens(40)
    passage = codec.encode(TEXT, tokens, start=70_000)
    (found,) = codec.compare(TEXT, select_tokens(tokens, 7), [passage])
    assert found is not None
    assert (found.matches[0].start, found.matches[0].end) == (70_035, 70_039)


def test_a_word_that_every_memory_has_weighs_least() -> None:
    codec, tokens = make_codec(), make_tokens(40)
    everywhere, here = select_tokens(tokens, 7), select_tokens(tokens, 7, 31)
    memories = [codec.encode(TEXT, here), *(codec.encode(TEXT, everywhere) for _ in range(9))]
    (first, *_) = codec.compare(TEXT, here, memories)
    assert first is not None
    common, rare = (match.weight for match in first.matches)
    assert rare > 3 * common
    assert common + rare == pytest.approx(1.0)


@pytest.mark.parametrize("count", [1, 10_000])
def test_any_number_of_tokens_is_stored(count: int) -> None:
    codec, tokens = make_codec(), make_tokens(count)
    block = codec.encode(TEXT, tokens)
    assert len(block) - codec.bytes_per_token * count < 16
    (found,) = codec.compare(TEXT, select_tokens(tokens, count - 1), [block])
    assert found is not None


def test_a_text_without_tokens_has_nothing_to_compare() -> None:
    codec = make_codec()
    assert codec.compare(TEXT, make_tokens(2), [codec.encode(TEXT, make_tokens(0))]) == [None]


def test_a_query_without_tokens_compares_nothing() -> None:
    codec = make_codec()
    assert codec.compare(TEXT, make_tokens(0), [codec.encode(TEXT, make_tokens(3))]) == [None]


def damage(block: bytes) -> dict[str, bytes]:
    return {
        "empty": b"",
        "cut": block[:-1],
        "longer": block + b"\0",
        "only a head": block[:11],
        "another format": b"\x09" + block[1:],
        "not ours": b"hello, world, this is text",
    }


@pytest.mark.parametrize("kind", [*damage(b"x" * 20)])
def test_a_damaged_block_is_left_out(kind: str) -> None:
    codec, tokens = make_codec(), make_tokens(3)
    block = codec.encode(TEXT, tokens)
    sound, broken = codec.compare(TEXT, tokens, [block, damage(block)[kind]])
    assert sound is not None
    assert broken is None


def test_a_block_of_another_codec_is_left_out() -> None:
    tokens = make_tokens(3)
    block = make_codec(seed=5).encode(TEXT, tokens)
    assert make_codec().compare(TEXT, tokens, [block]) == [None]


def test_a_long_word_is_cut_and_not_refused() -> None:
    tokens = make_tokens(1)
    long = TokenVectors(WIDTH, ((0, 400),), tokens.values)
    codec = make_codec()
    (found,) = codec.compare(TEXT, tokens, [codec.encode(TEXT, long)])
    assert found is not None
    assert found.matches[0].end == 255


@pytest.mark.parametrize("name", LOCAL_MODELS)
def test_a_shipped_codec_takes_at_most_48_bytes_for_a_token(name: str) -> None:
    codec = load_codec(name)
    assert codec is None or codec.bytes_per_token <= 48
