"""Token vectors in 48 bytes each, and the comparison of a query's tokens with them.

The mean of all tokens is subtracted from a vector of 384 numbers, which is then rotated to the
directions in which tokens differ most, cut to the first 172 of them, and stored with two bits per
number. Fewer bits for more directions preserve the order better than the other way around
(docs/adr/0052). Mean and directions are learned once for each model and shipped with Recollect
(`codecs/`, made by `tools/token_codec.py`); nothing is learned from a store. Five more bytes say
where the token is in the text and, by a hash, which word it is: the weight of a query word is its
rarity among the memories that are compared.

A text's tokens are one block: a mark of format and codec, where in the content the text begins, the
number of tokens, their positions, hashes and codes. An unreadable block is ignored: it was damaged,
or written with another codec.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from io import BytesIO
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from recollect.core.recall.late import Comparison, TokenMatch, TokenVectors

Floats = NDArray[np.float32]
Numbers = NDArray[np.floating[Any]]

# Format, codec, where the text begins in the content, number of tokens.
_HEAD: Final = struct.Struct("<B4sIH")
_FORMAT: Final = 1
_MAX_TOKENS: Final = 0xFFFF
_MAX_CHARACTERS: Final = 0xFFFF
_LONGEST: Final = 0xFF
_TINY: Final = np.float32(1e-9)
# The optimal width of four equal steps for a normal distribution, in standard deviations (Max
# 1960), and the middle of each step, for all four numbers in a byte.
_STEP: Final = np.float32(0.9957)
_SHIFTS: Final = np.array([0, 2, 4, 6], np.uint8)
_LEVELS: Final = ((np.arange(256)[:, None] >> _SHIFTS) & 3).astype(np.float32) - np.float32(1.5)
# Further tokens of a query add little, and each costs the same.
_MAX_QUERY_TOKENS: Final = 64


class _Block(NamedTuple):
    """A text's tokens as stored: the position, the word and the code of each."""

    firsts: NDArray[np.int64]
    lengths: NDArray[np.uint8]
    hashes: NDArray[np.uint16]
    codes: NDArray[np.uint8]

    @classmethod
    def join(cls, blocks: Sequence[_Block]) -> _Block:
        return cls(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


class ScalarCodec:
    """Implements `TokenCodec`. `directions` has one column for each stored number, a multiple of
    four; `spread` is the standard deviation of tokens in each.
    """

    def __init__(self, mean: Numbers, directions: Numbers, spread: Numbers) -> None:
        self._mean = np.ascontiguousarray(mean, dtype=np.float32)
        self._directions = np.ascontiguousarray(directions, dtype=np.float32)
        self._step = np.ascontiguousarray(spread, dtype=np.float32) * _STEP
        learned = (self._mean, self._directions, self._step)
        self._mark = hashlib.sha256(b"".join(part.tobytes() for part in learned)).digest()[:4]

    @property
    def bytes_per_token(self) -> int:
        return len(self._step) // 4 + 5

    def encode(self, text: str, tokens: TokenVectors, start: int = 0) -> bytes:
        spans = tokens.spans[:_MAX_TOKENS]
        levels = np.floor(self._turn(tokens)[:_MAX_TOKENS] / self._step) + 2
        codes = np.clip(levels, 0, 3).astype(np.uint8).reshape(len(spans), len(self._step) // 4, 4)
        return b"".join(
            (
                _HEAD.pack(_FORMAT, self._mark, start, len(spans)),
                np.array([min(first, _MAX_CHARACTERS) for first, _ in spans], "<u2").tobytes(),
                np.array([min(last - first, _LONGEST) for first, last in spans], "u1").tobytes(),
                _hashes(text, spans).tobytes(),
                (codes << _SHIFTS).sum(axis=2, dtype=np.uint8).tobytes(),
            )
        )

    def compare(
        self, query: str, tokens: TokenVectors, texts: Sequence[bytes]
    ) -> list[Comparison | None]:
        spans = tokens.spans[:_MAX_QUERY_TOKENS]
        read = [self._read(block) for block in texts]
        blocks = [block for block in read if block is not None]
        if not spans or not blocks:
            return [None for _ in texts]
        # All texts at once: with one array operation per text, the overhead between the operations
        # would dominate.
        ends = np.cumsum([len(block.hashes) for block in blocks])
        starts = np.concatenate([[0], ends[:-1]])
        stored = _Block.join(blocks)
        similar = self._similarities(self._turn(tokens)[: len(spans)], stored.codes)
        same_word = _hashes(query, spans)[:, None] == stored.hashes
        weights = _weigh(np.logical_or.reduceat(same_word, starts, axis=1).T)
        found = iter(
            _to_comparison(spans, similar[:, start:end], stored, start, weights)
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        )
        return [None if block is None else next(found) for block in read]

    def _similarities(self, asked: Floats, codes: NDArray[np.uint8]) -> Floats:
        """Return the cosine of each token of the query with each stored one."""
        levels = _LEVELS.take(codes, axis=0).reshape(len(codes), -1)
        lengths = np.sqrt(np.square(levels) @ np.square(self._step))
        similar: Floats = (asked * self._step) @ levels.T / np.maximum(lengths, _TINY)
        return similar

    def _read(self, block: bytes) -> _Block | None:
        if len(block) < _HEAD.size:
            return None
        version, mark, start, count = _HEAD.unpack_from(block)
        if version != _FORMAT or mark != self._mark or not count:
            return None
        if len(block) != _HEAD.size + self.bytes_per_token * count:
            return None
        return _Block(
            np.frombuffer(block, "<u2", count, _HEAD.size).astype(np.int64) + start,
            np.frombuffer(block, np.uint8, count, _HEAD.size + 2 * count),
            np.frombuffer(block, "<u2", count, _HEAD.size + 3 * count),
            np.frombuffer(block, np.uint8, offset=_HEAD.size + 5 * count).reshape(count, -1),
        )

    def _turn(self, tokens: TokenVectors) -> Floats:
        vectors = np.frombuffer(tokens.values, "<f4").reshape(-1, tokens.dimension)
        return _to_unit((vectors - self._mean) @ self._directions)


@lru_cache
def load_codec(model: str) -> ScalarCodec | None:
    """Return the codec of a local model; None for a model whose tokens do not help."""
    file = files("recollect.adapters.models.embedders") / "codecs" / f"{model}.npz"
    if not file.is_file():
        return None
    with np.load(BytesIO(file.read_bytes()), allow_pickle=False) as learned:
        return ScalarCodec(learned["mean"], learned["directions"], learned["spread"])


def _to_unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _TINY)
    return unit


def _to_comparison(
    asked: Sequence[tuple[int, int]], similar: Floats, stored: _Block, start: int, weights: Floats
) -> Comparison:
    """Compare one memory, whose tokens begin at `start` among those stored."""
    nearest = similar.argmax(axis=1)
    best = similar[np.arange(len(asked)), nearest]
    nearest += start
    firsts = stored.firsts[nearest]
    rows = zip(
        asked,
        firsts.tolist(),
        (firsts + stored.lengths[nearest]).tolist(),
        best.tolist(),
        weights.tolist(),
        strict=True,
    )
    matches = tuple(TokenMatch(*of_query, *of_memory) for of_query, *of_memory in rows)
    return Comparison(float(best @ weights), matches)


def _hashes(text: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.uint16]:
    words = (text[first:last].lower().encode("utf-8", "replace") for first, last in spans)
    return np.array([crc32(word) & 0xFFFF for word in words], "<u2")


def _weigh(holding: NDArray[np.bool_]) -> Floats:
    """Return the weight of each token of the query: the fewer of these memories contain it, the
    more it weighs. The weights add up to 1.
    """
    memories, count = len(holding), holding.sum(axis=0)
    idf = np.log1p((memories - count + 0.5) / (count + 0.5)).astype(np.float32)
    weights: Floats = idf / idf.sum()
    return weights
