"""Forks `recollect` commands that stop at a step of their work on spaces, to be killed there: a
kill test needs many, and importing would take longer than they live.

Run as a script. Each line on stdin is a JSON object: `run`, the arguments of a command, with its
environment and the step at which it stops, or `reap`, the id of a child that was killed. Each line
on stdout tells what came of it. The parent has no threads and no event loop, so a fork is safe.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# Everything that is imported late is imported now.
from tests.faults.steps import stop_at

import recollect.adapters.models.embedders.catalogue
import recollect.adapters.models.embedders.hosted
import recollect.shells.cli.admin.embedding
import recollect.shells.progress
import recollect.usecases.workers.reembed
import recollect.wiring  # noqa: F401  # as above
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.main import main

LIMITS = Limits(drop_batch=25, index_rows=0)
_ANSWERS = os.dup(1)
os.dup2(2, 1)  # what the commands themselves print


def say(**what: object) -> None:
    os.write(_ANSWERS, json.dumps(what).encode() + b"\n")


def configure_stores() -> None:
    """Claims expire after a second, a removal takes several steps, every owner gets an index, and
    timeouts are long enough for a busy machine.
    """
    real = PostgresStore.__init__
    timeouts, limits = Timeouts(database_connect=60, acquire=60, lease=1.0), LIMITS

    def configured(self: PostgresStore, url: str, **options: Any) -> None:
        real(self, url, **{**options, "timeouts": timeouts, "limits": limits})

    PostgresStore.__init__ = configured  # type: ignore[method-assign]  # the command makes its own


def child(run: list[str], environment: dict[str, str], step: list[str] | None) -> None:
    os.environ.update(environment)
    configure_stores()
    if step is not None:
        method, moment = step
        stop_at(method, moment, lambda: say(here=method))
    sys.argv = ["recollect", *run]
    try:
        main()
    except SystemExit as ended:
        say(ended=ended.code)
    finally:
        os._exit(0)


for line in sys.stdin:
    what = json.loads(line)
    if "reap" in what:
        os.waitpid(what["reap"], 0)
        say(reaped=what["reap"])
    elif pid := os.fork():
        say(pid=pid)
    else:
        child(**what)
