"""The schemas that Claude Code documents for a plugin's files, as far as a plugin can use them.

Written from its reference pages on plugins, marketplaces, hooks, skills and MCP. Names that the
pages do not list are rejected here, although the client only warns about them: this catches typos.
"""

from __future__ import annotations

from typing import Any, Final

_KEBAB: Final = {"type": "string", "pattern": r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"}
_TEXT: Final = {"type": "string", "minLength": 1}
_INSIDE: Final = {"type": "string", "pattern": r"^\./(?!.*\.\.)"}
_WORDS: Final = {"type": "array", "items": _TEXT, "uniqueItems": True}
_VERSION: Final = {"type": "string", "pattern": r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$"}


def _object(required: tuple[str, ...], **properties: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_PERSON: Final = _object(("name",), name=_TEXT, email=_TEXT, url=_TEXT)
_PATHS: Final = {"oneOf": [_INSIDE, {"type": "array", "items": _INSIDE}]}
_ABOUT: Final = {
    "version": _VERSION,
    "description": _TEXT,
    "author": _PERSON,
    "homepage": _TEXT,
    "repository": _TEXT,
    "license": _TEXT,
    "keywords": _WORDS,
}
_COMPONENTS: Final = {
    "commands": _PATHS,
    "agents": _PATHS,
    "skills": _PATHS,
    "hooks": {"oneOf": [_INSIDE, {"type": "object"}]},
    "mcpServers": {"oneOf": [_INSIDE, {"type": "object"}]},
}
MANIFEST: Final = _object(("name",), name=_KEBAB, **_ABOUT, **_COMPONENTS)

_SOURCE: Final = {
    "oneOf": [
        _INSIDE,
        _object(("source", "repo"), source={"const": "github"}, repo=_TEXT, ref=_TEXT, sha=_TEXT),
        _object(("source", "url"), source={"const": "url"}, url=_TEXT, ref=_TEXT, sha=_TEXT),
    ]
}
_RESERVED: Final = ("claude-code-marketplace", "claude-plugins-official", "anthropic-plugins")
MARKETPLACE: Final = _object(
    ("name", "owner", "plugins"),
    name={**_KEBAB, "not": {"enum": list(_RESERVED)}},
    owner=_PERSON,
    metadata=_object((), description=_TEXT, version=_VERSION, pluginRoot=_INSIDE),
    plugins={
        "type": "array",
        "minItems": 1,
        "items": _object(
            ("name", "source"),
            name=_KEBAB,
            source=_SOURCE,
            category=_TEXT,
            tags=_WORDS,
            strict={"type": "boolean"},
            **_ABOUT,
            **_COMPONENTS,
        ),
    },
)

_HOOK: Final = _object(
    ("type", "command"),
    type={"const": "command"},
    command=_TEXT,
    args={"type": "array", "items": {"type": "string"}},
    timeout={"type": "number", "exclusiveMinimum": 0, "maximum": 600},
    statusMessage=_TEXT,
    shell={"enum": ["bash", "powershell"]},
    **{"async": {"type": "boolean"}},
)
_GROUPS: Final = {
    "type": "array",
    "minItems": 1,
    "items": _object(
        ("hooks",), matcher=_TEXT, hooks={"type": "array", "minItems": 1, "items": _HOOK}
    ),
}
# Events without a matcher run at every occurrence; a matcher would be ignored.
_ALWAYS: Final = {**_GROUPS, "items": {**_GROUPS["items"], "not": {"required": ["matcher"]}}}  # type: ignore[dict-item]  # a mapping, as written above
EVENTS: Final = _object(
    (),
    UserPromptSubmit=_ALWAYS,
    Stop=_ALWAYS,
    SessionStart=_GROUPS,
    SessionEnd=_GROUPS,
    PreCompact=_GROUPS,
    PreToolUse=_GROUPS,
    PostToolUse=_GROUPS,
    Notification=_GROUPS,
    SubagentStop=_GROUPS,
)
HOOKS: Final = _object(("hooks",), description=_TEXT, hooks=EVENTS)

SERVERS: Final = _object(
    ("mcpServers",),
    mcpServers={
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": r"^[A-Za-z0-9_-]+$"},
        "additionalProperties": _object(
            ("command",),
            type={"const": "stdio"},
            command=_TEXT,
            args={"type": "array", "items": {"type": "string"}},
            env={"type": "object", "additionalProperties": {"type": "string"}},
        ),
    },
)

COMMAND: Final = _object(
    ("description",),
    **{
        "description": {**_TEXT, "maxLength": 200},
        "argument-hint": _TEXT,
        "allowed-tools": _TEXT,
        "model": _TEXT,
        "disable-model-invocation": {"enum": ["true", "false"]},
    },
)
SKILL: Final = _object(
    ("name", "description"),
    **{
        "name": {**_KEBAB, "maxLength": 64},
        "description": {**_TEXT, "maxLength": 1024},
        "license": _TEXT,
        "allowed-tools": _TEXT,
    },
)
