"""A hook's own wiring: from the settings to a recall without pydantic, httpx or an event loop."""

from __future__ import annotations

import os
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from recollect.core.recall.context import Deadline
from recollect.core.recall.request import Hit, RecallRequest

if TYPE_CHECKING:
    from recollect.adapters.sqlite.fast_recall import FastStore
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.context import RecallContext
    from recollect.settings import Settings
    from recollect.usecases.recall.steps import Now

# The share of the remaining budget that a server may use; the rest is for answering without it.
_SHARE_FOR_SERVER: Final = 0.7


class FastRecall:
    """Recalls in the configured mode. Afterwards, `note` holds what to log, and `by_words` is true
    if only the local store was searched, by words. After `until`, on the monotonic clock, an answer
    is too late to be used.
    """

    def __init__(self, settings: Settings, until: float) -> None:
        self.settings = settings
        self.until = until
        self.by_words = False
        self.note = ""

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
        from recollect.usecases.coroutines import run_directly
        from recollect.usecases.recall.words import recall_by_words

        with self._open_store() as store:
            return run_directly(recall_by_words(store, chosen.owner, request, self._now()))

    def _recall_offline_first(self, request: RecallRequest) -> list[Hit]:
        if not self.settings.sqlite_path.exists():  # nothing was synced yet
            return self._ask_server(request, 1.0)
        from recollect.usecases.coroutines import run_directly
        from recollect.usecases.recall.words import recall_offline_first

        def ask_server(context: RecallContext) -> list[Hit]:
            return self._ask_server(context.request, _SHARE_FOR_SERVER, context.scope)

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

        url, key = self.settings.api_url or "", self.settings.require_api_key()
        return recall(url, key, request, self._seconds_left() * share, scope)

    def _open_store(self) -> closing[FastStore]:
        from recollect.adapters.sqlite.fast_recall import FastStore

        return closing(FastStore(os.fspath(self.settings.sqlite_path), self._seconds_left()))

    def _now(self) -> Now:
        from recollect.usecases.recall.steps import Now

        deadline = Deadline(time.monotonic(), self._seconds_left(), time.monotonic)
        return Now(datetime.now(UTC), deadline)

    def _seconds_left(self) -> float:
        return max(self.until - time.monotonic(), 0.001)
