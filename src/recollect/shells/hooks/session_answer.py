"""The answer of the session that holds the model, if one runs: the hook prints it unchanged.

This module imports next to nothing, so that a hook with a session takes little longer than the
start of Python. A hook never starts a session.
"""

from __future__ import annotations

import os

from recollect.wire.hook_call import SHOWN, HookCall, HookReply
from recollect.wiring.hooks import ask_session

TYPE_CHECKING = False  # `typing` itself takes too long here
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.shells.hooks.watchdog import Watchdog
    from recollect.wiring.hooks import Question

# The share of the remaining time after which this process searches by words as well. Until then,
# the session has the processors to itself.
_SHARE = 0.3
# The share of the budget reserved for printing an answer. A machine that is too busy for the other
# process to answer also needs longer for this.
_SHARE_FOR_PRINTING = 0.1
_PRINT_SECONDS = 0.03


class SessionAnswer:
    """One hook's question to the session. `note` says why there was no answer."""

    def __init__(
        self, event: bytes, environ: Mapping[str, str], watchdog: Watchdog, *, as_text: bool
    ) -> None:
        self._event = event
        self._environ = environ
        self._watchdog = watchdog
        self._as_text = as_text
        self._question: Question | None = None
        self.note = ""

    def print_soon(self) -> str | None:
        """Print the answer if it arrives soon, and return the outcome. Do nothing if there is a
        server, which is asked first.
        """
        if self._environ.get("RECOLLECT_API_URL"):
            return None
        self._ask()
        return self._print(_SHARE)

    def print_now(self) -> str | None:
        """Print the answer if it has already arrived."""
        return self._print(0.0)

    def print_late(self, notes: Sequence[str]) -> str | None:
        """Print the answer if it arrives in the remaining time. `notes` are added to the log."""
        if self._environ.get("RECOLLECT_API_URL"):
            self._ask()
        return self._print(1.0, notes)

    def _ask(self) -> None:
        try:
            folder = os.getcwd()  # noqa: PTH109  # pathlib takes too long here
        except OSError:  # the folder was removed
            folder = "/"
        call = HookCall(self._event, folder, self._environ, as_text=self._as_text)
        self._question = ask_session(self._environ, call.to_bytes(), self._watchdog.left)

    def _print(self, share: float, notes: Sequence[str] = ()) -> str | None:
        if self._question is None:
            self.note = "by words"
            return None
        reserved = max(_PRINT_SECONDS, _SHARE_FOR_PRINTING * self._watchdog.budget)
        answer = self._question.read_answer(share * (self._watchdog.left - reserved))
        if answer is None:
            self.note = "by words: the session did not answer"
            return None
        try:
            reply = HookReply.from_bytes(answer)
        except ValueError:
            self.note = "by words: the session's answer was invalid"
            return None
        reply.note = ", ".join([*notes, reply.note])
        self._watchdog.answer(reply.text, reply.outcome)
        self._question.confirm(SHOWN)
        return reply.outcome
