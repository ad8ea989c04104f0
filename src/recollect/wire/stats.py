"""What an owner has stored, in numbers, and whether a server is well."""

from __future__ import annotations

from typing import Final, Literal

from recollect.core.admin.stats import CurationCounts, Stats
from recollect.core.graph.model import ExtractionProgress
from recollect.core.recall.space import EmbeddingStats
from recollect.wire.codec import codec
from recollect.wire.values import Shape

EMBEDDING: Final = codec(
    EmbeddingStats,
    "EmbeddingOut",
    """Progress of embedding the owner's memories. `parked` ones failed too often; `last_error` is
    the latest error. `embedder` is the name of the model; `languages` are those that it was made
    for, if that is known; `token_bytes` is the size of the token vectors. `unsent` changes are not
    yet known to Qdrant, if it is used.
    """,
    later=("token_bytes", "unsent", "embedder"),
    languages={"default_factory": list},
)
READING: Final = codec(
    ExtractionProgress,
    "ReadingOut",
    """Progress of reading the owner's memories for the concept graph; `to_compare` names wait to be
    compared with others. Calls and tokens are those of a language model, if one is used, for all
    owners of the server together.
    """,
    without={"failing": 0},
)
CURATION: Final = codec(
    CurationCounts,
    "CurationOut",
    """How many proposals wait for a decision, and how many the curator applied by itself that were
    not undone.
    """,
)
STATS: Final = codec(
    Stats,
    "StatsOut",
    """What an owner has stored, in numbers; languages are guessed; `expiring` is how many expire
    within a week. Without `embedding`, recall uses words only; without `graph`, there is no concept
    graph; without `curation`, there are neither undecided nor applied proposals.
    """,
    later=("expiring", "by_language", "embedding", "graph", "curation", "former_names"),
)


class HealthOut(Shape):
    """The answer of a health check that passed; otherwise it is a problem."""

    status: Literal["ok"]


class ReadyOut(HealthOut):
    """`lost_nodes` of a Citus cluster do not answer: only the owners on other nodes are served."""

    lost_nodes: list[str]
