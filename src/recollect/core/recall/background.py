"""How much a cosine means, compared with the cosines of texts that have nothing to do with the
query.

Models spread their cosines differently: two unrelated texts have about .05 with one and .75 with
another, and to a model for one language all texts in another one are alike. So a query is compared
with a fixed background of unrelated texts first. A memory's evidence is 0 where it is no nearer
than unrelated texts are on average, one half where it is as near as the nearest of them, and 1
where it says the same as the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Final, NamedTuple

from recollect.resources import read_list

# A query may be about one or two of them by chance, so the two nearest are averaged.
_NEAREST: Final = 2


def read_background() -> Sequence[str]:
    """Read short statements and requests about many things, in several languages and scripts."""
    return read_list("recollect.core.recall", "background.txt")


class Unrelated(NamedTuple):
    """The cosines of a query with texts that have nothing to do with it."""

    typical: float
    nearest: float

    @classmethod
    def measure(cls, query: Sequence[float], background: Sequence[Sequence[float]]) -> Unrelated:
        """Compare a query with the background; all vectors have length 1."""
        cosines = sorted((sum(map(mul, query, vector)) for vector in background), reverse=True)
        return cls(sum(cosines) / len(cosines), sum(cosines[:_NEAREST]) / _NEAREST)

    def evidence(self, cosine: float) -> float:
        """Return how much a cosine means, from 0 to 1."""
        if cosine <= self.typical:
            return 0.0
        if cosine < self.nearest:
            return (cosine - self.typical) / (self.nearest - self.typical) / 2
        if self.nearest >= 1.0:
            return 0.5
        return (1.0 + min((cosine - self.nearest) / (1.0 - self.nearest), 1.0)) / 2
