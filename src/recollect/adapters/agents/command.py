"""The command that clients run, and how to recognise it in their files."""

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
    r"(?:\s+-m\s+(?P<module>recollect\.main))?\s+hook\s+(?P<verb>recall|brief|capture|compact)(?:\s*\|\|\s*true)?\s*$"
)


@dataclass(frozen=True, slots=True)
class Command:
    """How to start Recollect: a program, and its first arguments."""

    program: str
    before: tuple[str, ...] = ()

    def server(self) -> dict[str, Any]:
        """Return the entry of an MCP server, as nearly every client expects it."""
        return {"command": self.program, "args": [*self.before, "mcp"]}

    def hook(self, verb: str) -> str:
        """One shell line, as all versions of the client read it. A program that has been removed
        must not report an error before each prompt; some Windows shells do not know `||`.
        """
        words = [*(_quote(word) for word in (self.program, *self.before)), "hook", verb]
        return " ".join(words if "\\" in self.program else [*words, "||", "true"])


def is_our_server(entry: object) -> bool:
    """Return whether `recollect install` could have written this server entry."""
    if not isinstance(entry, dict):
        return False
    command, args = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or not isinstance(args, list):
        return False
    return bool(_OURS.fullmatch(command) and args == ["mcp"]) or args == [*_MODULE, "mcp"]


def hook_of(text: object) -> tuple[str, str] | None:
    """Return which of our hooks this line runs, and its program; None if it runs something else."""
    found = _HOOK.match(text) if isinstance(text, str) else None
    if found is None:
        return None
    program = found["double"] or found["single"] or found["bare"]
    is_ours = found["module"] or _OURS.fullmatch(program)
    return (found["verb"], program) if is_ours else None


def _quote(word: str) -> str:
    """Quote as both kinds of shell understand it; a Windows program keeps its backslashes."""
    if "\\" in word:
        return f'"{word}"'
    return shlex.quote(word)
