"""From the environment to a recall without pydantic, httpx or an event loop: a hook's own wiring.

The settings of a process are read in `settings.py`. This is the one exception: importing that takes
longer than a hook may run. Only what a hook needs is read, and a test compares every value with
what `settings.py` reads.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.adapters.files.hook_log import home_path
from recollect.core.errors import InvalidInput
from recollect.core.memory.owner import check_owner
from recollect.core.recall.context import Deadline
from recollect.core.recall.relevance import Measure
from recollect.core.recall.request import Hit, RecallRequest

if TYPE_CHECKING:
    from recollect.adapters.sqlite.fast_recall import FastStore
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.context import RecallContext
    from recollect.usecases.recall.steps import Now

# Of what is left of the budget, what a server may use: the rest is for answering without it.
_SHARE_FOR_SERVER: Final = 0.7


@dataclass(frozen=True, slots=True)
class FastSettings:
    """What a hook needs of the settings; the names are those of `settings.py`."""

    home: Path
    owner: str
    api_url: str | None
    api_key: str | None
    sync: str
    hook_budget_ms: int
    measure: Measure

    @property
    def has_local_store(self) -> bool:
        return self.api_url is None or self.sync == "on"

    @property
    def sqlite_path(self) -> Path:
        return self.home / "memories.db"


def home_folder(environ: Mapping[str, str]) -> Path:
    """RECOLLECT_HOME, else the user's data directory."""
    return Path(home_path(environ))


def read_settings(environ: Mapping[str, str]) -> FastSettings:
    """InvalidInput names the variable that is invalid."""
    sync = environ.get("RECOLLECT_SYNC") or "on"
    if sync not in ("on", "off"):
        raise InvalidInput(
            "RECOLLECT_SYNC is invalid", field="RECOLLECT_SYNC", remedy="Set it to on or off."
        )
    owner = environ.get("RECOLLECT_OWNER") or "me"
    check_owner(owner, field="RECOLLECT_OWNER")
    fallback = Measure()
    return FastSettings(
        home=home_folder(environ),
        owner=owner,
        api_url=environ.get("RECOLLECT_API_URL") or None,
        api_key=environ.get("RECOLLECT_API_KEY") or None,
        sync=sync,
        hook_budget_ms=int(_number(environ, "RECOLLECT_HOOK_BUDGET_MS", 300, 50, 60_000)),
        measure=Measure(
            tokens=int(_number(environ, "RECOLLECT_HOOK_TOKENS", fallback.tokens, 100, 2_500)),
            floor=_number(environ, "RECOLLECT_HOOK_FLOOR", fallback.floor, 0, 1_000),
            meaning_floor=_number(
                environ, "RECOLLECT_HOOK_MEANING_FLOOR", fallback.meaning_floor, 0, 2
            ),
        ),
    )


def _number(
    environ: Mapping[str, str], name: str, fallback: float, low: float, high: float
) -> float:
    text = environ.get(name) or str(fallback)
    try:
        value = float(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise InvalidInput(
            f"{name} is invalid",
            field=name,
            remedy=f"Give a number from {low:g} to {high:g}, or unset it.",
        )
    return value


@dataclass(slots=True)
class FastRecall:
    """Recall in each mode; afterwards `note` is what to log about it, and `by_words` says whether
    only the local store was searched. Past `until`, a moment of the monotonic clock, an answer is
    of no use.
    """

    settings: FastSettings
    until: float
    by_words: bool = False
    note: str = ""

    def __call__(self, request: RecallRequest) -> list[Hit]:
        chosen = self.settings
        if chosen.api_url is None:
            return self._recall_locally(request)
        if not chosen.has_local_store:
            return self._ask_server(request, 1.0)
        return self._recall_offline_first(request)

    def _recall_locally(self, request: RecallRequest) -> list[Hit]:
        chosen = self.settings
        if not chosen.sqlite_path.exists():
            self.note = "no store yet"
            return []
        self.by_words = True
        from recollect.usecases.recall.words import recall_by_words, run_directly

        with self._open_store() as store:
            return run_directly(recall_by_words(store, chosen.owner, request, self._now()))

    def _recall_offline_first(self, request: RecallRequest) -> list[Hit]:
        if not self.settings.sqlite_path.exists():  # nothing was synced yet
            return self._ask_server(request, 1.0)
        from recollect.usecases.recall.words import recall_offline_first, run_directly

        def ask_server(asked: RecallContext) -> list[Hit]:
            return self._ask_server(asked.request, _SHARE_FOR_SERVER, asked.scope)

        owner = self.settings.owner
        with self._open_store() as store:
            hits, error = run_directly(
                recall_offline_first(store, owner, request, self._now(), ask_server)
            )
        if error is not None:
            self.by_words = True
            self.note = f"without the server: {type(error).__name__}"
        return hits

    def _ask_server(
        self, request: RecallRequest, share: float, scope: Scope | None = None
    ) -> list[Hit]:
        from recollect.adapters.http.fast_recall import recall

        chosen = self.settings
        if chosen.api_key is None:
            raise InvalidInput(
                "RECOLLECT_API_URL names a server, but there is no key for it",
                field="RECOLLECT_API_KEY",
                remedy="Set RECOLLECT_API_KEY.",
            )
        seconds = self._left() * share
        return recall(chosen.api_url or "", chosen.api_key, request, seconds, scope)

    def _open_store(self) -> closing[FastStore]:
        from recollect.adapters.sqlite.fast_recall import FastStore

        return closing(FastStore(os.fspath(self.settings.sqlite_path), self._left()))

    def _now(self) -> Now:
        from recollect.usecases.recall.steps import Now

        deadline = Deadline(time.monotonic(), self._left(), time.monotonic)
        return Now(datetime.now(UTC), deadline)

    def _left(self) -> float:
        return max(self.until - time.monotonic(), 0.001)
