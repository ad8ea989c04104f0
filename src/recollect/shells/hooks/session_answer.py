"""The answer of the session that holds the model, where one runs: the hook prints it as it is, as
soon as it comes, and ends.

This module imports next to nothing, so that a hook with a session takes little longer than the
start of Python. A hook never starts a session.
"""

from __future__ import annotations

import _thread
import os
import time

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
    """One hook's question to the session. A thread waits for the answer beside everything else that
    the hook does: on a busy machine an import alone may take the rest of the time. `note` says why
    the session did not answer.
    """

    def __init__(
        self, event: bytes, environ: Mapping[str, str], watchdog: Watchdog, *, as_text: bool
    ) -> None:
        self._event = event
        self._environ = environ
        self._watchdog = watchdog
        self._as_text = as_text
        self._until = watchdog.until - max(_PRINT_SECONDS, _SHARE_FOR_PRINTING * watchdog.budget)
        self._reading = _thread.allocate_lock()
        self.note = "by words"

    def wait_soon(self) -> None:
        """Ask, and wait a little: the process ends here if the answer comes. With a server, which
        is asked first, do nothing.
        """
        if not self._environ.get("RECOLLECT_API_URL"):
            self._ask(())
            self._wait(_SHARE)

    def wait_late(self, notes: Sequence[str]) -> None:
        """The same for the time that is left. `notes` are added to the log."""
        if self._environ.get("RECOLLECT_API_URL"):
            self._ask(notes)
        self._wait(1.0)

    def _ask(self, notes: Sequence[str]) -> None:
        try:
            folder = os.getcwd()  # noqa: PTH109  # pathlib takes too long here
        except OSError:  # the folder was removed
            folder = "/"
        call = HookCall(self._event, folder, self._environ, self._until, as_text=self._as_text)
        question = ask_session(self._environ, call.to_bytes(), self._watchdog.left)
        if question is not None:
            self.note = "by words: the session did not answer"
            self._reading.acquire()
            _thread.start_new_thread(self._read, (question, notes))

    def _wait(self, share: float) -> None:
        """Until the answer is here, or is known not to come."""
        seconds = max(share * (self._until - time.monotonic()), 0.0)
        if self._reading.acquire(timeout=seconds):
            self._reading.release()

    def _read(self, question: Question, notes: Sequence[str]) -> None:
        answer = question.read_answer(self._until - time.monotonic())
        try:
            reply = None if answer is None else HookReply.from_bytes(answer)
        except ValueError:
            reply = None
            self.note = "by words: the session's answer was invalid"
        if reply is not None:
            reply.note = ", ".join([*notes, reply.note])
            self._watchdog.answer(reply.text, reply.outcome)
            question.confirm(SHOWN)
            self._watchdog.end()
        self._reading.release()
