"""A stand-in for a coding agent: it runs the hooks as Claude Code does, and writes its transcript.

Each hook is a process of its own that gets an event on stdin. What `recall` and `brief` print is
added to the context after the prompt, and so to the transcript, where the capture hook will read it
again.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.processes import COMMAND, environment
from tests.waiting import SECONDS

from recollect.adapters.files.hook_log import HookLog

UNHURRIED = {"RECOLLECT_HOOK_BUDGET_MS": "60000", "RECOLLECT_HOOK_START_MS": "60000"}


@dataclass
class ScriptedAgent:
    """One session in one folder, with one home."""

    home: Path
    folder: Path
    session: str = "session-1"
    settings: dict[str, str] = field(default_factory=dict)
    contexts: list[str] = field(default_factory=list)

    @property
    def transcript(self) -> Path:
        return self.home / f"{self.session}.jsonl"

    def start(self, source: str = "startup") -> str:
        return self.run_for_context("brief", "SessionStart", source=source)

    def ask(self, prompt: str) -> str:
        """Send a prompt and return the context that the hook added to it."""
        context = self.run_for_context("recall", "UserPromptSubmit", prompt=prompt)
        self.contexts.append(context)
        added = f"\n<system-reminder>\n{context}\n</system-reminder>" if context else ""
        self.write("user", prompt + added)
        return context

    def answer(self, text: str) -> None:
        """Write the agent's answer, end the exchange, and wait for its background work."""
        self.write("assistant", [{"type": "text", "text": text}])
        before = self._works()
        assert self.run_hook("capture", "Stop", stop_hook_active=False) == ""
        self._await_work(before)

    def compact(self) -> str:
        """Compact at once, so that the brief has to wait for what is still being stored."""
        assert self.run_hook("compact", "PreCompact", trigger="auto", custom_instructions="") == ""
        return self.start("compact")

    def run_for_context(self, hook: str, event: str, **fields: object) -> str:
        printed = self.run_hook(hook, event, **fields)
        if not printed:
            return ""
        output = json.loads(printed)["hookSpecificOutput"]
        assert output["hookEventName"] == event
        return str(output["additionalContext"])

    def run_hook(self, hook: str, event: str, **fields: object) -> str:
        payload = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.folder),
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }
        done = subprocess.run(
            [*COMMAND, "hook", hook],
            input=json.dumps(payload).encode(),
            capture_output=True,
            env=environment(RECOLLECT_HOME=str(self.home), **{**UNHURRIED, **self.settings}),
            timeout=SECONDS,
            check=False,
        )
        assert done.stderr.decode() == ""
        assert done.returncode == 0
        return done.stdout.decode()

    def fork(self, session: str) -> ScriptedAgent:
        """Start another session with a copy of this one's transcript."""
        forked = replace(self, session=session, contexts=[])
        forked.transcript.write_bytes(self.transcript.read_bytes())
        return forked

    def write(self, role: str, content: Any) -> None:
        entry = {
            "type": role,
            "message": {"role": role, "content": content},
            "timestamp": datetime.now(UTC).isoformat(),
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def _works(self) -> int:
        log = HookLog(str(self.home / "hooks"))
        return sum(" capture work " in line for line in log.last_lines(1_000_000))

    def _await_work(self, before: int) -> None:
        from tests.waiting import wait_until

        wait_until(lambda: self._works() > before)
