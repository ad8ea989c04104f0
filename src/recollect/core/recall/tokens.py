"""The vectors of a text's tokens, for comparing texts word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """One vector of length 1 for each token, from the first on, as far as the model reads.

    `values` are 32-bit little-endian floats, one token after the other. `spans` say from which
    character of the text to which each token goes.
    """

    dimension: int
    spans: tuple[tuple[int, int], ...]
    values: bytes

    def __post_init__(self) -> None:
        if len(self.values) != 4 * self.dimension * len(self.spans):
            raise ValueError("each token needs one vector")

    def before(self, end: int) -> TokenVectors:
        """Those that end by this character of the text."""
        kept = sum(last <= end for _, last in self.spans)
        return TokenVectors(
            self.dimension, self.spans[:kept], self.values[: 4 * self.dimension * kept]
        )

    def after(self, start: int) -> TokenVectors:
        """Those from this character of the text on, as if the text began there."""
        before = sum(first < start for first, _ in self.spans)
        return TokenVectors(
            self.dimension,
            tuple((first - start, last - start) for first, last in self.spans[before:]),
            self.values[4 * self.dimension * before :],
        )


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """A text's vector, and its tokens' vectors if the model exposes them."""

    vector: Sequence[float]
    tokens: TokenVectors | None
