"""Ask the process that holds the model. Hooks import this, so it imports almost nothing.

To the caller every failure is the same: no answer. It then answers by itself, by words or with its
own model.
"""

from __future__ import annotations

import time
from _socket import AF_UNIX, SOCK_STREAM, socket

from recollect.adapters.resident.address import MAX_ANSWER, MAX_REQUEST, is_same_user, use_address


class Question:
    """A question that was sent. Close it when its answer is no longer needed."""

    def __init__(self, connection: socket) -> None:
        self._connection = connection
        self._answer = bytearray()

    def read_answer(self, seconds: float) -> bytes | None:
        """Return the answer if all of it arrives in time; otherwise it can be read later."""
        until = time.monotonic() + seconds
        answer = self._answer
        try:
            while len(answer) < MAX_ANSWER:
                # What has arrived is read even if no time is left.
                self._connection.settimeout(max(until - time.monotonic(), 0.0))
                part = self._connection.recv(1 << 18)
                if not part:
                    return bytes(answer) if answer.endswith(b"\n") else None
                answer += part
        except OSError:
            return None
        return None

    def confirm(self, data: bytes) -> None:
        """Report whether the answer was used."""
        try:
            self._connection.sendall(data)
        except OSError:  # the other process has ended
            return

    def close(self) -> None:
        self._connection.close()


def send_question(home: str, question: bytes, seconds: float) -> Question | None:
    """Send a question, a line of JSON or a hook's call; None when no process of this user
    listens.
    """
    if len(question) > MAX_REQUEST:
        return None
    connection = socket(AF_UNIX, SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        use_address(home, connection.connect)
        if is_same_user(connection):
            connection.sendall(question)
            return Question(connection)
    except OSError:
        pass
    connection.close()
    return None
