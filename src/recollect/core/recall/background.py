"""How much a cosine means, compared with the cosines of texts that have nothing to do with the
query.

Models spread their cosines differently: two unrelated texts have about .05 with one and .75 with
another, and to a model for one language all texts in another one are alike. So a query is compared
with a fixed background of unrelated texts first. A memory's evidence is 0 where it is no nearer
than unrelated texts are on average, one half where it is as near as the nearest of them, and 1
where it says the same as the query.

The nearest of many texts is nearer than one text would be, even if none has to do with the query.
So the best passage of a long text is compared without what it gains by chance, or long texts would
crowd out short ones (docs/adr/0067).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from operator import mul
from typing import Final, NamedTuple

from recollect.resources import read_list

# A query may be about one or two of them by chance, so the two nearest are averaged.
_NEAREST: Final = 2

GAIN: Final = 0.75 * sqrt(2.0)
"""The largest of n independent normal numbers is about √(2 ln n) deviations above their mean. The
passages of a text are about one thing, and gain about three quarters of that."""


def read_background() -> Sequence[str]:
    """Read short statements and requests about many things, in several languages and scripts."""
    return read_list("recollect.core.recall", "background.txt")


def gain_by_chance(passages: int) -> float:
    """Return how far the best of so many passages is above a single one by chance, in standard
    deviations of the query's cosines with unrelated texts. A text of one passage gains nothing.
    """
    return GAIN * sqrt(log(passages))


class Unrelated(NamedTuple):
    """The cosines of a query with texts that have nothing to do with it; `spread` is their standard
    deviation.
    """

    typical: float
    nearest: float
    spread: float

    @classmethod
    def measure(cls, query: Sequence[float], background: Sequence[Sequence[float]]) -> Unrelated:
        """Compare a query with the background; all vectors have length 1."""
        cosines = sorted((sum(map(mul, query, vector)) for vector in background), reverse=True)
        typical = sum(cosines) / len(cosines)
        variance = sum((cosine - typical) ** 2 for cosine in cosines) / len(cosines)
        return cls(typical, sum(cosines[:_NEAREST]) / _NEAREST, sqrt(variance))

    def evidence(self, cosine: float) -> float:
        """Return how much a cosine means, from 0 to 1."""
        if cosine <= self.typical:
            return 0.0
        if cosine < self.nearest:
            return (cosine - self.typical) / (self.nearest - self.typical) / 2
        if self.nearest >= 1.0:
            return 0.5
        return (1.0 + min((cosine - self.nearest) / (1.0 - self.nearest), 1.0)) / 2
