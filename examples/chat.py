"""A chat that remembers: each turn is an episode of its session, and is recalled later.

    python examples/chat.py --session ada            # talk; end with Ctrl-D
    python examples/chat.py --session ada < talk.txt

The answers come from `answer`, a placeholder that only repeats what it remembers. Call your model
there: it gets the person's text and the relevant memories, and returns a text. The memories are
those of the command line unless `--home` names another folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from uuid import UUID

from recollect import Client, Memory, Scope

# How many of the latest turns a model sees anyway; only older ones need to be recalled.
WINDOW = 4


class Chat:
    """One conversation. What the person says is stored, and found again in later ones."""

    def __init__(self, memory: Client, session: str) -> None:
        self._memory = memory
        self._session = session
        self._window: list[UUID] = []

    def say(self, text: str) -> tuple[str, Sequence[Memory]]:
        """Return the answer to what a person says, and the memories it is based on."""
        found = self._memory.recall(
            text,
            limit=3,
            scope=Scope(sessions=(self._session,)),
            exclude=frozenset(self._window[-WINDOW:]),
        )
        remembered = [hit.memory for hit in found.hits]
        reply = answer(text, remembered)
        self._store(f"The user said: {text}")
        self._store(f"The assistant said: {reply}", importance=0.1)
        return reply, remembered

    def _store(self, text: str, importance: float = 0.5) -> None:
        turn = self._memory.remember(
            text, category="episode", session=self._session, importance=importance
        )
        self._window.append(turn.id)


def answer(_text: str, remembered: Iterable[Memory]) -> str:
    """Answer from memories; call your model here."""
    said = [memory.content for memory in remembered if memory.content.startswith("The user said: ")]
    if not said:
        return "I know nothing of that yet."
    return f"You told me: {said[0].removeprefix('The user said: ')}"


def main() -> None:
    options = argparse.ArgumentParser(description="A chat that remembers.")
    options.add_argument("--session", default="demo", help="the conversation to continue")
    options.add_argument("--home", help="a folder for a local store of its own")
    chosen = options.parse_args()
    with Client(home=chosen.home) if chosen.home else Client() as memory:
        chat = Chat(memory, chosen.session)
        for line in sys.stdin:
            if text := line.strip():
                print(f"> {text}")
                reply, remembered = chat.say(text)
                print(f"{reply}   ({len(remembered)} remembered)")


if __name__ == "__main__":
    main()
