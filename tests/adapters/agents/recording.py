"""The recorded run: a scripted agent's session of thirty prompts, what was injected, and why.

`python -m tests.adapters.agents.recording` writes it to docs/hooks-recording.md; a test
records it again and compares. Ids and dates differ from run to run, so the record shows numbers
instead.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.adapters.agents.agent import ScriptedAgent
from tests.shells.cli.commands import COMMAND, environment

from recollect.adapters.files.hook_files import SessionFile
from recollect.core.memory.memory import Scope
from recollect.core.recall.relevance import FLOOR, relevance, searchable_text
from recollect.core.recall.request import RecallRequest
from recollect.usecases.agents.inject import LIMIT
from recollect.wiring.fast_recall import FastRecall, read_settings

FILE = Path(__file__).parents[3] / "docs" / "hooks-recording.md"
PROJECT = "example.org/ada/shop"
# What the agent stores over MCP before the session: text, project, importance, sensitive.
STORED: tuple[tuple[str, str | None, float, bool], ...] = (
    ("The staging database of the shop is read-only on Fridays.", PROJECT, 0.8, False),
    ("Invoices are rendered by the billing worker, not by the web process.", PROJECT, 0.6, False),
    ("The checkout page talks to the payment gateway over gRPC.", PROJECT, 0.6, False),
    ("Customer e-mail addresses never go to the application log.", PROJECT, 0.9, False),
    ("The search index is rebuilt every night at two by the reindex job.", PROJECT, 0.4, False),
    ("Feature flags live in flags.toml and are reloaded without a restart.", PROJECT, 0.5, False),
    ("The mobile team needs API changes announced two weeks ahead.", PROJECT, 0.5, False),
    ("Product images are resized by the thumbor container.", PROJECT, 0.4, False),
    ("Prefer small pull requests with one reviewer.", None, 0.6, False),
    ("Use British spelling in documentation.", None, 0.5, False),
    ("The staging database of the blog is one SQLite file.", "example.org/ada/blog", 0.5, False),
    ("The payment gateway sandbox password is correct-horse-battery.", PROJECT, 0.9, True),
)
# "=" ends the exchange with an answer, "~" compacts the context.
PROMPTS = (
    "continue",
    "Can I write to the staging database on Friday?",
    "fix the failing test",
    "Which process renders the invoices?",
    "add type hints to this module",
    "The checkout page times out against the payment gateway over gRPC",
    "thanks",
    "May I write customer e-mail addresses to the application log?",
    "Remember that the coupons service is called melon.",
    "=Noted.",
    "rename the variable to something clearer",
    "When is the search index rebuilt by the reindex job?",
    "run the tests",
    "How are feature flags reloaded without a restart?",
    "No, use structlog instead of print in the coupons service.",
    "=Understood.",
    "what does this error mean?",
    "Write documentation with British spelling for the search index",
    "show me the diff",
    "Is the staging database writable on Friday?",
    "what is the name of the coupons service?",
    "~",
    "Can I write to the staging database on Friday?",
    "make the build faster",
    "What is the payment gateway sandbox password?",
    "How many reviewers do small pull requests have?",
    "undo the last change",
    "How are the product images resized, and by which container?",
    "We decided to announce API changes to the mobile team three weeks ahead.",
    "=Good.",
    "When do API changes have to be announced to the mobile team?",
    "write a poem about the sea",
    "is there a race condition in this code?",
    "Where are coupons logged, with structlog or print?",
)
_HEAD = """# A recorded session

What the hooks injected into a scripted agent's session of thirty prompts, and why. Made by
`python -m tests.adapters.agents.recording`, which runs a stand-in that speaks the hook and MCP
protocols as the client does, on the local store; a test records it again and compares. Memories are
numbered in the order in which they were stored. A mark is a memory's
[relevance](adr/0021-the-relevance-floor.md) for the prompt; the floor is FLOOR.

"""


@dataclass
class _Recorder:
    agent: ScriptedAgent
    environ: dict[str, str]
    folder: Path

    def numbers(self) -> dict[str, int]:
        with closing(sqlite3.connect(self.agent.home / "memories.db")) as store:
            ids = [id for (id,) in store.execute("select id from memories order by id")]
        return {id: number for number, id in enumerate(ids, start=1)}

    def rows(self) -> Iterator[str]:
        number = 0
        for prompt in PROMPTS:
            if prompt.startswith("="):
                before = self.numbers()
                self.agent.answer(prompt[1:])
                new = sorted(set(self.numbers().values()) - set(before.values()))
                stored = ", ".join(f"memory {one}" for one in new) or "nothing"
                yield f"| | *the answer ends; captured: {stored}* | | |"
            elif prompt == "~":
                restored = self._told(self.agent.compact())
                yield f"| | *the context is compacted; restored: {restored}* | | |"
            else:
                number += 1
                why = self._why(prompt)
                yield f"| {number} | {prompt} | {self._told(self.agent.ask(prompt))} | {why} |"

    def _told(self, context: str) -> str:
        short = {id[:13]: number for id, number in self.numbers().items()}
        origin = {"global": " (global)"}
        found = re.findall(r"^\[memory (\S+) · (\w+)", context, re.MULTILINE)
        return ", ".join(f"{short[id]}{origin.get(whence, '')}" for id, whence in found) or "–"

    def _why(self, prompt: str) -> str:
        """The marks of what recall finds, before the hook is asked."""
        numbers = self.numbers()
        had = SessionFile(self.folder, self.agent.session).state().injected
        scope = Scope(project=PROJECT, with_global=True)
        find = FastRecall(read_settings(self.environ), time.monotonic() + 1_000_000)
        hits = find(RecallRequest(prompt, limit=LIMIT, scope=scope))
        told: list[str] = []
        for hit in hits:
            mark = relevance(prompt, searchable_text(hit.memory))
            name = f"{numbers[str(hit.memory.id)]}: {mark:.1f}"
            if hit.memory.is_sensitive:
                told.append(f"{name}, sensitive")
            elif hit.memory.id in had:
                told.append(f"{name}, there already")
            elif mark >= FLOOR:
                told.append(f"**{name}**")
            elif mark >= FLOOR / 2:
                told.append(name)
        return "; ".join(told) or ("all far below the floor" if hits else "nothing found")


def record(folder: Path) -> str:
    """The whole record, made in an empty folder."""
    home, shop = folder / "home", folder / "shop"
    shop.mkdir(parents=True)
    home.mkdir()
    config = '[remote "origin"]\n\turl = git@example.org:ada/shop.git\n'
    (shop / ".git").mkdir()
    (shop / ".git" / "config").write_text(config)
    environ = {"RECOLLECT_HOME": str(home)}
    _store_over_mcp(environ)
    recorder = _Recorder(ScriptedAgent(home, shop, "recorded"), environ, home / "hooks")
    lines = [_HEAD.replace("FLOOR", f"{FLOOR:g}"), "| memory | origin | text |\n|---|---|---|\n"]
    for number, (text, project, _, is_sensitive) in enumerate(STORED, start=1):
        origin = (project or "global") + (", sensitive" if is_sensitive else "")
        lines.append(f"| {number} | {origin} | {text} |\n")
    lines.append("\n| prompt | | injected | why (memory: mark) |\n|---|---|---|---|\n")
    lines.extend(f"{row}\n" for row in recorder.rows())
    return "".join(lines)


def _store_over_mcp(environ: dict[str, str]) -> None:
    """As a client does it: a handshake, then one call after the other over a pipe."""
    with subprocess.Popen(
        [*COMMAND, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(**environ),
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def say(method: str, params: object, id: int | None = None) -> object:
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            told = message if id is None else {**message, "id": id}
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(json.dumps(told) + "\n")
            server.stdin.flush()
            return None if id is None else json.loads(server.stdout.readline())["result"]

        client = {"name": "scripted-agent", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        say("initialize", hello, 0)
        say("notifications/initialized", {})
        for id, (content, project, importance, is_sensitive) in enumerate(STORED, start=1):
            arguments: dict[str, object] = {"content": content, "importance": importance}
            if project is not None:
                arguments["project"] = project
            if is_sensitive:
                arguments["is_sensitive"] = True
            answer = say("tools/call", {"name": "memory_store", "arguments": arguments}, id)
            assert isinstance(answer, dict)
            assert not answer.get("isError"), answer
        server.stdin.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        text = record(Path(place))
    (Path(sys.argv[1]) if len(sys.argv) > 1 else FILE).write_text(text)
