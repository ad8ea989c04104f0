"""Files of Anthropic's programs: the export of claude.ai, and the transcripts of Claude Code.

Turns become episodes of their conversation. What claude.ai remembers about a person
(`memories.json`) becomes facts, those of a project in that project.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from recollect.core.agents.transcript import answer_text, typed_text
from recollect.core.imports.found import ImportProblem, Item, moment_of, turn
from recollect.core.imports.lines import Lines, objects
from recollect.core.imports.notes import markdown

_SENDERS: Final = {"human": "User", "user": "User", "assistant": "Assistant"}


def is_conversation(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("chat_messages"), list)


def is_memory(value: object) -> bool:
    return isinstance(value, dict) and "conversations_memory" in value


def claude_ai(document: Any, names: Mapping[str, str], max_chars: int) -> Iterator[Item]:  # noqa: ANN401  # a JSON value
    """Read an export of claude.ai; `names` maps the ids of projects to their names."""
    listed = document if isinstance(document, list) else [document]
    for number, entry in enumerate(listed, 1):
        if is_conversation(entry):
            yield from _turns(f"conversation {number}", entry, number, max_chars)
        elif is_memory(entry):
            yield from _memories(entry, names, max_chars)
        else:
            place = f"conversation {number}"
            yield ImportProblem(place, "not a conversation: it has no chat_messages", "Remove it.")


def project_names(document: Any) -> dict[str, str]:  # noqa: ANN401  # a JSON value
    """Return the name of each project in `projects.json` by its id."""
    listed = document if isinstance(document, list) else [document]
    return {
        row["uuid"]: row["name"]
        for row in listed
        if isinstance(row, dict)
        and isinstance(row.get("uuid"), str)
        and isinstance(row.get("name"), str)
    }


def _memories(
    values: Mapping[str, Any], names: Mapping[str, str], max_chars: int
) -> Iterator[Item]:
    tags = ("claude-ai",)
    if isinstance(text := values.get("conversations_memory"), str):
        yield from markdown(text, max_chars, tags=tags, category="fact")
    of_projects = values.get("project_memories")
    for id, text in (of_projects if isinstance(of_projects, dict) else {}).items():
        if isinstance(text, str):
            project = names.get(id, id)
            yield from markdown(text, max_chars, tags=tags, category="fact", project=project)


def _turns(place: str, talk: Mapping[str, Any], number: int, max_chars: int) -> Iterator[Item]:
    session = f"claude-ai:{talk.get('uuid') or number}"
    name = talk.get("name")
    started = moment_of(talk.get("created_at"))
    for place_in_talk, message in enumerate(talk["chat_messages"], 1):
        if not isinstance(message, dict):
            continue
        speaker = _SENDERS.get(str(message.get("sender")))
        text = _text_of(message)
        if speaker is None or not text:
            continue
        yield from turn(
            f"{place}, turn {place_in_talk}",
            speaker,
            text,
            max_chars,
            tag="claude-ai",
            session=session,
            keywords=(name,) if isinstance(name, str) and name.strip() else (),
            created_at=moment_of(message.get("created_at")) or started,
            key=str(message.get("uuid") or place_in_talk),
        )


def _text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message, without thinking, tools and attached documents."""
    blocks = message.get("content")
    texts = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ]
    whole = "\n".join(texts).strip()
    text = message.get("text")
    return whole or (text.strip() if isinstance(text, str) else "")


def is_transcript_entry(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("sessionId"), str)
        and isinstance(value.get("type"), str)
        and ("message" in value or "cwd" in value or "uuid" in value)
    )


def claude_code(
    lines: Lines, project_of: Callable[[str], str | None], max_chars: int
) -> Iterator[Item]:
    """Read what was typed and what was answered; tools, commands and subagents are left out."""
    for item in objects(lines):
        if isinstance(item, ImportProblem):
            yield item
            continue
        place, entry = item
        session = entry.get("sessionId")
        if entry.get("type") == "user":
            speaker, text = "User", typed_text(entry).strip()
        else:
            speaker, text = "Assistant", answer_text(entry)
        if not isinstance(session, str) or not text:
            continue
        folder = entry.get("cwd")
        yield from turn(
            place,
            speaker,
            text,
            max_chars,
            tag="claude-code",
            session=session,
            project=project_of(folder) if isinstance(folder, str) and folder else None,
            created_at=moment_of(entry.get("timestamp")),
            key=str(entry.get("uuid") or place),
        )
