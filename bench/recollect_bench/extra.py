"""What only the benchmark needs is an extra: recall is installed and started without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recollect.core.admin.extras import how_to_install
from recollect.core.errors import RecollectError


@contextmanager
def bench_extra() -> Iterator[None]:
    """Around the late import of a package that comes with the extra."""
    try:
        yield
    except ImportError as error:
        raise RecollectError(
            f"the benchmark needs a package that cannot be imported ({error})",
            remedy=how_to_install("bench"),
        ) from error
