"""The exception tree is the one that its module draws, and every error has a remedy."""

from __future__ import annotations

import inspect
import re

import pytest

from recollect.core import errors
from recollect.core.errors import InvalidInput, NotFound, RecollectError


def read_drawn_tree() -> dict[str, str]:
    """Return the parent of each class in the module's drawing; indentation is depth."""
    branch = re.compile(r"^ {4}((?:[│ ] {3})*)(?:[├└]── )?(\w+)(?: {2,}\S.*)?$")
    above: list[str] = []
    tree: dict[str, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if (found := branch.match(line)) is None:
            continue
        depth = len(found[1]) // 4 + ("──" in line)
        above[depth:] = [found[2]]
        tree[found[2]] = above[depth - 1] if depth else "Exception"
    return tree


def test_the_drawing_is_the_tree() -> None:
    classes = {
        name: one.__base__.__name__
        for name, one in inspect.getmembers(errors, inspect.isclass)
        if one.__module__ == errors.__name__ and one.__base__ is not None
    }
    assert read_drawn_tree() == classes


def test_an_error_says_what_went_wrong_and_what_to_do_next() -> None:
    error = NotFound("there is no memory 019a", remedy="See `recollect list`.")
    assert (str(error), error.remedy) == ("there is no memory 019a", "See `recollect list`.")
    refused = InvalidInput("too long", field="content", remedy="Split it.")
    assert (refused.field, refused.remedy) == ("content", "Split it.")


def test_no_error_can_be_made_without_a_remedy() -> None:
    with pytest.raises(TypeError):
        RecollectError("something went wrong")  # type: ignore[call-arg]  # must not work
