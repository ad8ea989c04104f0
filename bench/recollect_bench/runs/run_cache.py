"""A cache of finished runs on disk, so that an interrupted measurement of hours can continue.

A run is identified by its data, its configuration, the model and the code that ranked: after a
change of the product no cached run is used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Final

import recollect
import recollect_bench
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.runs.configs import Config
from recollect_bench.runs.run import Answer, Run

# Code that only reports on runs and cannot change one.
_REPORTING: Final = (
    "recollect/shells",
    "recollect_bench/cli",
    "recollect_bench/reports",
    "recollect_bench/scores",
    "recollect_bench/studies",
)

_PACKAGES: Final = [Path(*package.__path__) for package in (recollect, recollect_bench)]


class RunCache:
    """One file for each run."""

    def __init__(self, folder: Path, embedder: str) -> None:
        self._folder = folder
        self._embedder = embedder

    def read(self, data: EvaluationSet, config: Config) -> Run | None:
        """Return the run if it was measured."""
        file = self._file(data, config)
        if not file.is_file():
            return None
        found = json.loads(file.read_text(encoding="utf-8"))
        answers = {
            id: Answer(
                tuple(answer["ranking"]),
                {leg: tuple(ids) for leg, ids in answer["legs"].items()},
            )
            for id, answer in found["answers"].items()
        }
        return Run(data.name, config, answers)

    def write(self, data: EvaluationSet, runs: Sequence[Run]) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for run in runs:
            file = self._file(data, run.config)
            answers = {id: asdict(answer) for id, answer in run.answers.items()}
            text = json.dumps({"answers": answers})
            file.with_suffix(".part").write_text(text, encoding="utf-8")
            file.with_suffix(".part").replace(file)

    def _file(self, data: EvaluationSet, config: Config) -> Path:
        known_by = [
            data.name,
            data.digest,
            [document.id for document in data.documents],
            [question.id for question in data.questions],
            asdict(config.layout),
            dict(config.settings),
            self._embedder,
            digest_code(*_PACKAGES),
        ]
        digest = hashlib.sha256(json.dumps(known_by, sort_keys=True).encode()).hexdigest()
        return self._folder / f"{digest}.json"


@cache
def digest_code(*packages: Path) -> str:
    """Return a digest of everything that can change a ranking: code, SQL, word lists and codecs."""
    digest = hashlib.sha256()
    for folder in packages:
        for file in sorted(folder.rglob("*")):
            name = file.relative_to(folder.parent).as_posix()
            if file.is_file() and "__pycache__" not in name and not name.startswith(_REPORTING):
                digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
