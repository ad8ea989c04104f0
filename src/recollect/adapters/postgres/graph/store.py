"""The concept graph in Postgres: what recall walks, workers fill, and people view and edit."""

from __future__ import annotations

from recollect.adapters.postgres.graph.queue import ExtractionQueue
from recollect.adapters.postgres.graph.read import GraphReader
from recollect.adapters.postgres.graph.rules import RULES
from recollect.adapters.postgres.graph.vectors import ConceptComparison
from recollect.adapters.sql.graph.merge_split import GraphEditor
from recollect.adapters.sql.graph.paths import PathFinder
from recollect.adapters.sql.graph.view import GraphViewer


class PostgresGraph(
    ConceptComparison, ExtractionQueue, GraphReader, PathFinder, GraphViewer, GraphEditor
):
    """The ports of `ports/graph.py`; opened and closed by its store."""

    _rules = RULES
