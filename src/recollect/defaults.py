"""The defaults that a hook needs before it has time to read the settings.

`settings.py` uses them too. This module imports almost nothing: a hook's time limit and its log are
set up before anything else is imported (docs/adr/0020).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` itself takes too long here
if TYPE_CHECKING:
    from collections.abc import Mapping

# How long a hook may take if a prompt waits for it, and if none does.
HOOK_BUDGET_MS = 300
HOOK_START_MS = 2_000
# Set for processes that a hook starts: an agent that is run to extract statements has hooks too,
# which must capture nothing.
CAPTURING = "RECOLLECT_CAPTURING"


def home_path(environ: Mapping[str, str]) -> str:
    """Return RECOLLECT_HOME or, if it is unset, a folder in the user's data directory according to
    the XDG base directory specification.
    """
    if named := environ.get("RECOLLECT_HOME", ""):
        home = os.path.expanduser(named)  # noqa: PTH111  # pathlib takes too long here
        # Call getcwd only for a relative path: it fails if the working folder was removed.
        return home if os.path.isabs(home) else os.path.join(os.getcwd(), home)  # noqa: PTH109, PTH117, PTH118  # as above
    data = environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # noqa: PTH117  # as above
        data = os.path.expanduser("~/.local/share")  # noqa: PTH111  # as above
    return f"{data}/recollect"
