"""Packages that only the benchmark needs are an extra: Recollect runs without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recollect.core.admin.checks import how_to_install
from recollect.core.errors import RecollectError


@contextmanager
def bench_extra() -> Iterator[None]:
    """Wrap the lazy import of a package of the extra, to say how to install it if it is missing."""
    try:
        yield
    except ImportError as error:
        raise RecollectError(
            f"the benchmark needs a package that cannot be imported ({error})",
            remedy=how_to_install("bench"),
        ) from error
