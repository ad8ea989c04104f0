"""The concept graph in the local store: what recall walks, workers fill, and people view and
edit.
"""

from __future__ import annotations

from recollect.adapters.sql.graph.merge_split import GraphEditor
from recollect.adapters.sql.graph.paths import PathFinder
from recollect.adapters.sql.graph.view import GraphViewer
from recollect.adapters.sqlite.graph.queue import ExtractionQueue
from recollect.adapters.sqlite.graph.read import GraphReader
from recollect.adapters.sqlite.graph.rules import RULES
from recollect.adapters.sqlite.graph.vectors import ConceptComparison


class SqliteGraph(
    ConceptComparison, ExtractionQueue, GraphReader, PathFinder, GraphViewer, GraphEditor
):
    """The ports of `ports/graph.py`; opened and closed by its store."""

    _rules = RULES
