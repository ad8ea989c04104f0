"""The command that clients run, and how to know it again in their files."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any, Final

NAME: Final = "recollect"
_MODULE: Final = ["-m", "recollect.main"]
_OURS: Final = re.compile(r"(?:.*[\\/])?recollect(?:\.exe)?", re.IGNORECASE)
_HOOK: Final = re.compile(
    r"""^(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<bare>\S+))"""
    r"(?:\s+-m\s+(?P<module>recollect\.main))?\s+hook\s+(?P<verb>recall|brief|capture|compact)\s*$"
)


@dataclass(frozen=True, slots=True)
class Command:
    """How Recollect is started: a program, and what comes before the words of the command."""

    program: str
    before: tuple[str, ...] = ()

    def server(self) -> dict[str, Any]:
        """What nearly every client calls an MCP server."""
        return {"command": self.program, "args": [*self.before, "mcp"]}

    def hook(self, verb: str) -> str:
        """One line for a shell, as all versions of the client read it."""
        words = (self.program, *self.before)
        return " ".join([*(_quoted(word) for word in words), "hook", verb])


def is_our_server(entry: object) -> bool:
    """Whether this is a server entry that `recollect install` could have written."""
    if not isinstance(entry, dict):
        return False
    command, args = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or not isinstance(args, list):
        return False
    return bool(_OURS.fullmatch(command) and args == ["mcp"]) or args == [*_MODULE, "mcp"]


def hook_of(text: object) -> tuple[str, str] | None:
    """Which of our hooks this line runs, and by which program; None when it runs another thing."""
    found = _HOOK.match(text) if isinstance(text, str) else None
    if found is None:
        return None
    program = found["double"] or found["single"] or found["bare"]
    is_ours = found["module"] or _OURS.fullmatch(program)
    return (found["verb"], program) if is_ours else None


def _quoted(word: str) -> str:
    """Quotes that both kinds of shell understand; a program of Windows keeps its backslashes."""
    if "\\" in word:
        return f'"{word}"'
    return shlex.quote(word)
