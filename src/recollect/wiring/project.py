"""Which project the work in a folder belongs to: every shell that has a folder asks here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recollect.adapters.files.repository import repository_project

OVERRULING = "RECOLLECT_PROJECT"


def current_project(folder: Path, environ: Mapping[str, str]) -> str | None:
    """RECOLLECT_PROJECT, else what the repository's remote says, else the repository's folder;
    None where there is no repository: then only global memories are meant.
    """
    named = environ.get(OVERRULING, "").strip()
    return named or repository_project(folder)
