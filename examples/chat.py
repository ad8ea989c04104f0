"""A chat that remembers: each turn is an episode of its session, and what was said comes back.

    python examples/chat.py --session ada            # talk; end with Ctrl-D
    python examples/chat.py --session ada < talk.txt

The answers are made by `answer`, a stand-in that only repeats what it remembers. Put your model
there: it gets what the person said and the memories that matter, and returns a text. The memory is
the one of the command line unless `--home` names a folder of its own.
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
    """One conversation. What the person tells in it is kept, and found again in a later one."""

    def __init__(self, memory: Client, session: str) -> None:
        self._memory = memory
        self._session = session
        self._window: list[UUID] = []

    def say(self, text: str) -> tuple[str, Sequence[Memory]]:
        """The answer to what a person says, and the memories it was made with."""
        found = self._memory.recall(
            text,
            limit=3,
            scope=Scope(sessions=(self._session,)),
            exclude=frozenset(self._window[-WINDOW:]),
        )
        remembered = [hit.memory for hit in found.hits]
        reply = answer(text, remembered)
        self._keep(f"The user said: {text}")
        self._keep(f"The assistant said: {reply}", importance=0.1)
        return reply, remembered

    def _keep(self, text: str, importance: float = 0.5) -> None:
        turn = self._memory.remember(
            text, category="episode", session=self._session, importance=importance
        )
        self._window.append(turn.id)


def answer(_text: str, remembered: Iterable[Memory]) -> str:
    """Where a model would be asked."""
    told = [memory.content for memory in remembered if memory.content.startswith("The user said: ")]
    if not told:
        return "I know nothing of that yet."
    return f"You told me: {told[0].removeprefix('The user said: ')}"


def main() -> None:
    options = argparse.ArgumentParser(description="A chat that remembers.")
    options.add_argument("--session", default="demo", help="the conversation to go on with")
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
