"""Exports of other programs in JSON: mem0, mcp-memory-service, ChatGPT's memories, ChatGPT's
conversations, and the graph of the reference memory server as its tool returns it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from recollect.core.imports.found import Found, ImportProblem, Item, moment_of, turn
from recollect.core.imports.lines import Lines, graph_node, objects
from recollect.core.memory.memory import CATEGORIES, DEFAULT_CATEGORY

_TEXTS: Final = ("memory", "content", "text", "data")
_LISTS: Final = ("results", "memories", "data", "items")
_SPEAKERS: Final = {"user": "User", "assistant": "Assistant"}
_MAX_STEPS: Final = 1_000_000


def graph(document: Any) -> Iterator[Item]:  # noqa: ANN401  # a JSON value
    for name in ("entities", "relations"):
        for number, item in enumerate(document.get(name) or [], 1):
            yield from graph_node(f"{name}, item {number}", item if isinstance(item, dict) else {})


def memory_list(document: Any, tag: str) -> Iterator[Item]:  # noqa: ANN401  # a JSON value
    """Read mem0's export and API answers, and similar lists of memories. The format is a tag."""
    listed = entries(document)
    if listed is None:
        yield ImportProblem("document", "it contains no list of memories", "See docs/moving.md.")
        return
    for number, item in enumerate(listed, 1):
        yield entry(f"item {number}", item, tag)


def memory_lines(lines: Lines, tag: str) -> Iterator[Item]:
    """Read the same, one per line; an unreadable line is reported, and the rest is read."""
    for item in objects(lines):
        yield item if isinstance(item, ImportProblem) else entry(*item, tag)


def entries(document: Any) -> list[Any] | None:  # noqa: ANN401  # a JSON value
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        lists = (document[name] for name in _LISTS if isinstance(document.get(name), list))
        return next(lists, None)
    return None


def entry(place: str, item: Any, tag: str) -> Item:  # noqa: ANN401  # a JSON value
    values = {"memory": item} if isinstance(item, str) else item
    texts = (values.get(name) for name in _TEXTS) if isinstance(values, dict) else ()
    text = next((text for text in texts if isinstance(text, str) and text.strip()), None)
    if text is None:
        return ImportProblem(place, "not a memory: it has no text", "Correct or remove it.")
    metadata = values.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    category = str(values.get("category") or values.get("memory_type") or "")
    is_ours = category in CATEGORIES
    labels = [
        *(values.get("tags"), values.get("categories"), None if is_ours else category or None),
        *(metadata.get("category"), metadata.get("tags")),
    ]
    run = values.get("run_id")
    project = metadata.get("project")
    return Found(
        text,
        category if is_ours else DEFAULT_CATEGORY,
        tags=(tag, *(word for label in labels for word in _words(label))),
        session=run if isinstance(run, str) else None,
        project=project if isinstance(project, str) else None,
        created_at=moment_of(values.get("created_at") or values.get("created_timestamp")),
        key=str(values.get("id") or ""),
        place=place,
    )


def _words(label: Any) -> list[str]:  # noqa: ANN401  # a JSON value
    if isinstance(label, str):
        return [label]
    return [item for item in label if isinstance(item, str)] if isinstance(label, list) else []


def conversations(document: Any, max_chars: int) -> Iterator[Item]:  # noqa: ANN401  # a JSON value
    """Read ChatGPT's conversations.json: each visible turn is an episode of its conversation."""
    listed = document if isinstance(document, list) else [document]
    for number, item in enumerate(listed, 1):
        place = f"conversation {number}"
        if not isinstance(item, dict) or not isinstance(item.get("mapping"), dict):
            yield ImportProblem(place, "not a conversation: it has no mapping", "Remove it.")
            continue
        yield from _turns(place, item, number, max_chars)


def _turns(place: str, talk: dict[str, Any], number: int, max_chars: int) -> Iterator[Item]:
    session = f"chatgpt:{talk.get('conversation_id') or talk.get('id') or number}"
    title = talk.get("title")
    words = (title,) if isinstance(title, str) and title.strip() else ()
    started = moment_of(talk.get("create_time"))
    for step, node in enumerate(_visible_branch(talk), 1):
        message = node.get("message")
        if not isinstance(message, dict) or (parsed := _parse_message(message)) is None:
            continue
        speaker, text = parsed
        yield from turn(
            f"{place}, turn {step}",
            speaker,
            text,
            max_chars,
            tag="chatgpt",
            session=session,
            keywords=words,
            created_at=moment_of(message.get("create_time")) or started,
            key=str(message.get("id") or step),
        )


def _visible_branch(talk: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the branch that a person sees, from its root to its end; without an end, every
    node.
    """
    mapping = talk["mapping"]
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    here = talk.get("current_node")
    if here not in nodes:
        return list(nodes.values())
    path: list[dict[str, Any]] = []
    seen: set[object] = set()
    while here in nodes and here not in seen and len(path) < _MAX_STEPS:
        seen.add(here)
        path.append(nodes[here])
        here = nodes[here].get("parent")
    return path[::-1]


def _parse_message(message: dict[str, Any]) -> tuple[str, str] | None:
    """Return who says what; None for hidden messages, and for anything but text."""
    author, content = message.get("author"), message.get("content")
    metadata = message.get("metadata")
    if not isinstance(author, dict) or not isinstance(content, dict):
        return None
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return None
    speaker = _SPEAKERS.get(str(author.get("role")))
    if speaker is None or content.get("content_type") not in ("text", "multimodal_text"):
        return None
    parts = content.get("parts")
    texts = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
    text = "\n".join(texts).strip()
    return (speaker, text) if text else None
