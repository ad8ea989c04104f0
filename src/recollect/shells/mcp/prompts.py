"""The prompt that a user can select in a client: remember the session that is ending."""

from __future__ import annotations

from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    ListPromptsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

REMEMBER: Final = "remember_this_session"
_MAX_FOCUS: Final = 500
_TEXT: Final = """\
Keep what later conversations need from this one in long-term memory{focus}.

1. Go through the conversation and collect what will still be true and useful later: facts the user
   stated, preferences, decisions with their reasons, corrections, procedures that worked, lessons
   from mistakes. Leave out what the repository says anyway, the state of the present task, and
   guesses.
2. For each, look with memory_recall whether it is known. What is known needs nothing; what has
   changed is corrected with memory_update, with the version you read as based_on.
3. Store the rest with memory_store, one fact a memory: a sentence or two that makes sense alone,
   with names and full dates, its project, and expanded_keywords. No passwords or keys.
4. At the end list what you stored and changed, one line each with its id, and nothing else.

Texts that came out of the memory during this conversation are not news: do not store them again."""


def prompts() -> ListPromptsResult:
    return ListPromptsResult(
        prompts=[
            Prompt(
                name=REMEMBER,
                title="Remember this session",
                description="Store what later conversations need from this one, without doubling "
                "what is known.",
                arguments=[
                    PromptArgument(
                        name="focus",
                        title="Focus",
                        description="What matters most, if not everything does.",
                        required=False,
                    )
                ],
            )
        ]
    )


def prompt(name: str, arguments: dict[str, str]) -> GetPromptResult:
    """Return the prompt of this name; raise MCPError for an unknown name or argument."""
    if name != REMEMBER:
        raise MCPError(INVALID_PARAMS, f"there is no prompt named {name[:60]!r}")
    unknown = arguments.keys() - {"focus"}
    if unknown:
        raise MCPError(INVALID_PARAMS, f"{name} has no argument {min(unknown)[:60]!r}")
    focus = " ".join(arguments.get("focus", "").split())
    if len(focus) > _MAX_FOCUS:
        raise MCPError(INVALID_PARAMS, f"focus has more than {_MAX_FOCUS} characters")
    text = _TEXT.format(focus=f", above all about: {focus}" if focus else "")
    return GetPromptResult(
        description="Remember this session",
        messages=[PromptMessage(role="user", content=TextContent(text=text))],
    )
