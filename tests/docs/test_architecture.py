"""The names in docs/architecture.md exist where the page says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PLACES = re.findall(r"`(\w+)`\s+in\s+`([\w/]+\.py)`", PAGE)


def test_architecture_names_places() -> None:
    assert len(PLACES) > 30


@pytest.mark.parametrize(("name", "path"), PLACES)
def test_architecture_names_exist(name: str, path: str) -> None:
    module = ast.parse((ROOT / "src" / "recollect" / path).read_text())
    defined = {
        node.name
        for node in module.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    assert name in defined


@pytest.mark.parametrize("path", re.findall(r"`([\w/]+\.py)`", PAGE))
def test_architecture_files_exist(path: str) -> None:
    assert (ROOT / "src" / "recollect" / path).is_file()
