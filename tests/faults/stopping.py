"""A `recollect` command that stops at a step of its work on spaces, to be killed there."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tests.faults.steps import stop_at

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.main import main

LIMITS = Limits(drop_batch=25, index_rows=0)


def configure_stores() -> None:
    """Claims expire after a second, a removal takes several steps, every owner gets an index, and
    timeouts are long enough for a busy machine.
    """
    real = PostgresStore.__init__
    timeouts, limits = Timeouts(database_connect=60, acquire=60, lease=1.0), LIMITS

    def configured(self: PostgresStore, url: str, **options: Any) -> None:
        real(self, url, **{**options, "timeouts": timeouts, "limits": limits})

    PostgresStore.__init__ = configured  # type: ignore[method-assign]  # the command creates its own


def run(step: tuple[str, str] | None, *arguments: str) -> None:
    """Run a command. Its output goes to stderr; stdout announces that it reached the step."""
    answers = os.dup(1)
    os.dup2(2, 1)
    configure_stores()
    if step is not None:

        def announce() -> None:
            os.write(answers, json.dumps(step[0]).encode() + b"\n")

        stop_at(*step, announce)
    sys.argv = ["recollect", *arguments]
    main()
