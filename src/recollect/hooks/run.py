"""Every hook's way in and out: whatever happens, exit code 0, a whole answer or none, one log line.

An agent waits for its hooks, and takes some exit codes for orders. So nothing that goes wrong here
may show there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from recollect.adapters.hook_files import HookLog, hooks_folder
from recollect.core.errors import RecollectError
from recollect.hooks.events import BadEvent, Event, read_event
from recollect.hooks.wall import Wall
from recollect.quick import budget_ms, home_folder, start_ms

NAMES: Final = ("recall", "brief", "capture", "compact")
# Set for what a hook starts itself: an agent's own command, asked to extract, has hooks, too.
CAPTURING: Final = "RECOLLECT_CAPTURING"


def run(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> NoReturn:
    """One hook, then the end of the process."""
    name = arguments[0] if arguments else ""
    try:
        if name not in NAMES:
            sys.stderr.write(f"There is no hook {name!r}; the hooks are {', '.join(NAMES)}.\n")
        elif not environ.get(CAPTURING):
            _run(name, environ, as_text="--text" in arguments)
    except BaseException:  # noqa: BLE001, S110  # a hook must never stop the work
        pass
    finally:
        sys.stderr.flush()
        os._exit(0)


def _run(name: str, environ: Mapping[str, str], *, as_text: bool) -> None:
    log = HookLog(hooks_folder(home_folder(environ)))

    def late(ms: float) -> None:
        log.write(name, "over budget: nothing said", ms)

    wall = Wall(_budget(name, environ), late)
    try:
        outcome = _hook(name, read_event(), environ, wall, as_text=as_text)
    except BadEvent as error:
        outcome = f"refused: {error}"
    except RecollectError as error:
        # Its text is ours, but may name a file or an address.
        outcome = f"failed: {type(error).__name__}"
    except BaseException as error:  # noqa: BLE001  # as above; its text may quote anything
        outcome = f"failed: {type(error).__name__}"
    log.write(name, outcome, wall.ms)


def _budget(name: str, environ: Mapping[str, str]) -> float:
    """A number that cannot be read is the hook's own affair, and told there."""
    try:
        return start_ms(environ) if name == "brief" else budget_ms(environ)
    except RecollectError:
        return budget_ms({})


def _hook(name: str, event: Event, environ: Mapping[str, str], wall: Wall, *, as_text: bool) -> str:
    if name == "recall":
        from recollect.hooks.recall import recall

        return recall(event, environ, wall, as_text=as_text)
    from recollect.hooks import session

    if name == "brief":
        return session.brief(event, environ, wall, as_text=as_text)
    return session.capture(event, environ, is_compacting=name == "compact")
