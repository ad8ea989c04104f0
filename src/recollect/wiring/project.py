"""The project that a folder belongs to, for every shell that works in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recollect.adapters.files.repository import repository_project

_VARIABLE = "RECOLLECT_PROJECT"


def current_project(folder: Path, environ: Mapping[str, str]) -> str | None:
    """Return RECOLLECT_PROJECT, else the name in the repository's remote, else the repository's
    folder. None outside of a repository, where only global memories apply.
    """
    named = environ.get(_VARIABLE, "").strip()
    return named or repository_project(folder)
