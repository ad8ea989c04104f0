"""How much a cosine means: compared with what its model gives to texts that have nothing to do with
the query.

Models spread their cosines differently: two unrelated texts have about .05 with one and .75 with
another, and a model of one language finds all texts of another one alike. So a query is compared
with a fixed background of unrelated texts first. A memory's evidence is 0 where it is no nearer
than unrelated texts are on average, one half where it is as near as the nearest of them, and 1
where it says the same as the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Final, NamedTuple

# Short statements and requests about many things, in several languages and scripts. A query may be
# about one or two of them by chance, so the second nearest counts as much as the nearest.
BACKGROUND: Final = tuple(
    """
The kettle in the office kitchen switches off by itself after two minutes.
Our neighbour's dog barks whenever the postman comes up the street.
The ferry to the island runs every forty minutes in summer.
Tomatoes need six hours of sun and should be watered in the morning.
The museum is closed on Mondays and on public holidays.
She prefers an aisle seat on long flights.
The old bridge was rebuilt in 1931 after the flood.
Add a pinch of salt before the water boils.
The service restarts the queue after three failed attempts.
Log files are rotated every night and kept for two weeks.
The parser raises an error when a bracket is missing.
Invoices are sent on the first working day of the month.
The team meets on Thursdays at ten to plan the next release.
My brother plays the cello in a small orchestra.
The river freezes only in very cold winters.
Version 2 of the library dropped support for the old format.
The flight was delayed because of fog.
He finished the marathon in just under four hours.
The nurse checks the ward twice a night.
Our landlord raised the rent in spring.
The contract with the supplier ends next year.
The phone app shows a map of all stations.
Twenty people work on the third floor.
The thesis was printed in two copies.
Write a short poem about the sea.
What is the capital of Mongolia?
Please translate this paragraph and make it more polite.
Sort the list by name and remove the duplicates.
Explain how a hash table works with a small example.
How long does it take to bake a potato?
Who painted the ceiling of the chapel?
Der Zug nach Hamburg fährt um halb neun von Gleis sieben.
Die Bäckerei an der Ecke hat sonntags geschlossen.
El mercado abre a las nueve y cierra a las dos.
La lluvia empezó cuando salíamos del cine.
Le musée est fermé le mardi et les jours fériés.
La voiture est au garage depuis lundi.
Поезд отправляется с третьего пути в восемь часов.
图书馆周一到周五开放，周末休息。
请把这句话翻译成英文。
会議は木曜日の十時から始まります。
駅前のパン屋は日曜日が休みです。
기차는 여덟 시에 출발합니다.
المتحف مغلق يوم الاثنين.
""".strip().splitlines()
)
_NEAREST: Final = 2


class Unrelated(NamedTuple):
    """The cosines of a query with texts that have nothing to do with it."""

    typical: float
    nearest: float

    @classmethod
    def measure(cls, query: Sequence[float], background: Sequence[Sequence[float]]) -> Unrelated:
        """All vectors have length 1."""
        cosines = sorted((sum(map(mul, query, vector)) for vector in background), reverse=True)
        return cls(sum(cosines) / len(cosines), sum(cosines[:_NEAREST]) / _NEAREST)

    def evidence(self, cosine: float) -> float:
        """How much a cosine means, from 0 to 1."""
        if cosine <= self.typical:
            return 0.0
        if cosine < self.nearest:
            return (cosine - self.typical) / (self.nearest - self.typical) / 2
        if self.nearest >= 1.0:
            return 0.5
        return (1.0 + min((cosine - self.nearest) / (1.0 - self.nearest), 1.0)) / 2
