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
from recollect.adapters.resident import socket_path
from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import InvalidInput, RecollectError
from recollect.core.memory.owner import check_owner
from recollect.core.recall.context import Deadline
from recollect.core.recall.relevance import Measure
from recollect.core.recall.request import Hit, RecallRequest

if TYPE_CHECKING:
    from recollect.adapters.resident.client import Question
    from recollect.adapters.sqlite.fast_recall import FastStore

# Of what is left of the budget, what a server may use: the rest is for answering without it.
_SHARE_FOR_SERVER: Final = 0.7
# The same for the process that holds the model, until this one searches by words as well.
_SHARE_FOR_SESSION: Final = 0.45
# A process that holds the model and is well reads a question at once.
_SEND_SECONDS: Final = 0.02
# Kept of the budget to choose and print an answer, whatever was waited for. A machine that is too
# busy for the other process to answer needs longer for this as well.
_SHARE_FOR_PRINTING: Final = 0.1
_PRINT_SECONDS: Final = 0.03


@dataclass(frozen=True, slots=True)
class FastSettings:
    """What a hook needs of the settings; the names are those of `settings.py`."""

    home: Path
    owner: str
    api_url: str | None
    api_key: str | None
    sync: str
    embedder: str
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
        embedder=environ.get("RECOLLECT_EMBEDDER") or "minilm",
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
    """Recall in each mode; afterwards `note` is what to log about it. Past `until`, a moment of the
    monotonic clock, an answer is of no use.
    """

    settings: FastSettings
    until: float
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
        # The process that holds the model has the processors for itself at first. If it does not
        # answer soon, this one finds an answer by words, and then looks again.
        question = self._ask_resident(request)
        by_meaning = self._read_resident(question, request, _SHARE_FOR_SESSION)
        if by_meaning is not None:
            return by_meaning
        words: list[Hit] | RecollectError
        try:
            words = self._recall_by_words(request)
        except RecollectError as error:
            words = error
        by_meaning = self._read_resident(question, request)
        if by_meaning is not None:
            return by_meaning
        if isinstance(words, RecollectError):
            raise words
        return words

    def _recall_by_words(self, request: RecallRequest) -> list[Hit]:
        from recollect.usecases.recall.words import recall_by_words, run_directly

        with self._open_store() as store:
            now = datetime.now(UTC)
            return run_directly(
                recall_by_words(store, self.settings.owner, request, self._deadline(), now)
            )

    def _recall_offline_first(self, request: RecallRequest) -> list[Hit]:
        if not self.settings.sqlite_path.exists():  # nothing was synced yet
            return self._ask_server(request, 1.0)

        def ask_server(request: RecallRequest) -> list[Hit]:
            return self._ask_server(request, _SHARE_FOR_SERVER)

        from recollect.usecases.recall.words import recall_offline_first, run_directly

        with self._open_store() as store:
            hits, error = run_directly(
                recall_offline_first(
                    store,
                    self.settings.owner,
                    request,
                    self._deadline(),
                    datetime.now(UTC),
                    ask_server,
                )
            )
        if error is None:
            return hits
        by_meaning = self._read_resident(self._ask_resident(request), request)
        self.note = f"without the server: {type(error).__name__}, {self.note}"
        return hits if by_meaning is None else by_meaning

    def _ask_resident(self, request: RecallRequest) -> Question | None:
        """Ask the process that holds the model, if one does; nothing is ever started."""
        chosen = self.settings
        home = os.fspath(chosen.home)
        if chosen.embedder == NO_EMBEDDER or not os.path.exists(socket_path(home)):  # noqa: PTH110  # imports nothing
            return None
        import json

        from recollect.adapters.resident.client import send_question
        from recollect.wire.fast_recall import write_request

        question = {"owner": chosen.owner, "recall": write_request(request)}
        line = json.dumps(question, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        return send_question(home, line, min(_SEND_SECONDS, self._left()))

    def _read_resident(
        self, question: Question | None, request: RecallRequest, share: float = 1.0
    ) -> list[Hit] | None:
        """The answer, if it comes within this share of the time that is left."""
        self.note = "by words"
        if question is None:
            return None
        import json

        from recollect.wire.fast_recall import read_hits

        budget = self.settings.hook_budget_ms / 1000
        reserved = max(_PRINT_SECONDS, _SHARE_FOR_PRINTING * budget)
        line = question.read_answer(share * (self._left() - reserved))
        if line is not None or share == 1.0:
            question.close()
        if line is None:
            self.note = "by words: the session did not answer"
            return None
        try:
            answer = json.loads(line)
            hits = read_hits(answer, request)
            has_meaning = answer["legs"]["dense"]["status"] == "ran"
        except (ValueError, KeyError, TypeError, AttributeError):
            self.note = "by words: the session's answer was invalid"
            return None
        self.note = "by meaning" if has_meaning else "by words, from the session"
        return hits

    def _ask_server(self, request: RecallRequest, share: float) -> list[Hit]:
        from recollect.adapters.http.fast_recall import recall

        chosen = self.settings
        if chosen.api_key is None:
            raise InvalidInput(
                "RECOLLECT_API_URL names a server, but there is no key for it",
                field="RECOLLECT_API_KEY",
                remedy="Set RECOLLECT_API_KEY.",
            )
        return recall(chosen.api_url or "", chosen.api_key, request, self._left() * share)

    def _open_store(self) -> closing[FastStore]:
        from recollect.adapters.sqlite.fast_recall import FastStore

        return closing(FastStore(os.fspath(self.settings.sqlite_path), self._left()))

    def _deadline(self) -> Deadline:
        return Deadline(time.monotonic(), self._left(), time.monotonic)

    def _left(self) -> float:
        return max(self.until - time.monotonic(), 0.001)
