"""The entry point of every hook: always exit code 0, a complete answer or none, one log line.

Agents wait for their hooks and treat some exit codes as commands, so no failure may reach them. The
time limit starts before anything else is imported: on a busy machine, the imports alone can use up
the budget.
"""

from __future__ import annotations

import os
import sys

from recollect.defaults import CAPTURING
from recollect.shells.hooks.session_answer import SessionAnswer
from recollect.shells.hooks.stdin import read_stdin
from recollect.shells.hooks.watchdog import Watchdog, read_budget_ms
from recollect.wiring.hooks import open_hook_log

TYPE_CHECKING = False  # `typing` itself takes too long here
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

NAMES = ("recall", "brief", "capture", "compact")


def run(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> NoReturn:
    """Run one hook, then end the process."""
    name = arguments[0] if arguments else ""
    try:
        if name not in NAMES:
            sys.stderr.write(f"Unknown hook {name!r}; choose one of: {', '.join(NAMES)}.\n")
            sys.stderr.flush()
        elif not environ.get(CAPTURING):
            _run(name, environ, as_text="--text" in arguments)
    except BaseException:  # noqa: BLE001, S110  # a hook must never stop the work
        pass
    finally:
        os._exit(0)


def _run(name: str, environ: Mapping[str, str], *, as_text: bool) -> None:
    log = open_hook_log(environ)

    def note(ms: float, outcome: str | None) -> None:
        log.write(name, outcome or "gave up to stay within its budget", ms)

    watchdog = Watchdog(read_budget_ms(name, environ), note)
    try:
        outcome = _hook(name, environ, watchdog, as_text=as_text)
    except BaseException as error:  # noqa: BLE001  # as above; its text may quote anything
        outcome = f"failed: {type(error).__name__}"
    log.write(name, outcome, watchdog.ms)


def _hook(name: str, environ: Mapping[str, str], watchdog: Watchdog, *, as_text: bool) -> str:
    data = read_stdin()
    answer = SessionAnswer(data, environ, watchdog, as_text=as_text) if name == "recall" else None
    if answer is not None:
        answer.wait_soon()
    from recollect.shells.hooks.events import BadEvent, parse_event

    try:
        event = parse_event(data)
    except BadEvent as error:
        return f"refused: {error}"
    if answer is not None:
        from recollect.shells.hooks.recall import recall

        return recall(event, environ, watchdog, answer, as_text=as_text)
    from recollect.shells.hooks import session

    if name == "brief":
        return session.brief(event, environ, watchdog, as_text=as_text)
    return session.capture(event, environ, is_compacting=name == "compact")
