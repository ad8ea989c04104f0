"""The package's own data, in text files next to the modules that use it: SQL, word lists, examples.

A file is read on first use, not at import, and then cached. It is read with the loader of the
modules: a hook needs word lists before every prompt, and importing `importlib.resources` would take
10 ms.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any


def read_text(package: str, name: str) -> str:
    """Read a file in the folder of an imported package."""
    module: Any = sys.modules[package]
    content: bytes = module.__spec__.loader.get_data(f"{module.__path__[0]}/{name}")
    return content.decode()


@cache
def read_list(package: str, name: str) -> tuple[str, ...]:
    """Read the items of a file, one per line. Lines that begin with `#` are comments."""
    return _items(read_text(package, name))


@cache
def read_lists(package: str, name: str) -> Mapping[str, tuple[str, ...]]:
    """Read the lists of a file, by the headings in brackets above them."""
    parts = (part.partition("]\n") for part in f"\n{read_text(package, name)}".split("\n[")[1:])
    return {heading: _items(lines) for heading, _, lines in parts}


def _items(text: str) -> tuple[str, ...]:
    lines = filter(None, text.split("\n"))
    # Few lists contain a comment, and a hook reads many lists.
    return tuple(line for line in lines if line[0] != "#") if "#" in text else tuple(lines)
