"""The concept graph in the local store: what recall walks, workers fill, and people view and
edit.
"""

from __future__ import annotations

from recollect.adapters.sqlite.graph.merge_split import GraphEditor
from recollect.adapters.sqlite.graph.paths import PathFinder
from recollect.adapters.sqlite.graph.queue import ExtractionQueue
from recollect.adapters.sqlite.graph.read import GraphReader
from recollect.adapters.sqlite.graph.vectors import ConceptComparison
from recollect.adapters.sqlite.graph.view import GraphViewer


class SqliteGraph(
    ConceptComparison, ExtractionQueue, GraphReader, PathFinder, GraphViewer, GraphEditor
):
    """The ports of `ports/graph.py`; opened and closed by its store."""
