"""The ways a process can work, as its settings name them."""

from __future__ import annotations

from typing import Final, Literal

Mode = Literal["local", "cached", "remote"]
"""Where memories are: local, local with a server behind, or only on the server."""

GraphMode = Literal["off", "rules", "llm"]
"""Whether memories are read for the graph, and whether a language model reads them too."""

CurationMode = Literal["off", "propose", "apply"]
"""Whether changed memories are examined, and whether proposals that are sure enough are applied."""

NO_EMBEDDER: Final = "none"
"""The name that means no embedding model."""
