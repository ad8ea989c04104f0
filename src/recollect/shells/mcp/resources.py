"""What clients can read without a tool: a memory by its id, and the brief of a project.

A memory is JSON in the format of the tools and the REST API. The brief is the block that the hook
injects at the start of a session: data between fences, never instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from recollect.core.agents.injection import block
from recollect.core.memory.memory import Scope
from recollect.core.recall.relevance import Measure
from recollect.core.text.analysis import strip_invisible
from recollect.ports.service import Service
from recollect.usecases.agents.brief import brief

MEMORY: Final = "recollect://memory/"
BRIEF: Final = "recollect://brief"
_JSON: Final = "application/json"
_TEXT: Final = "text/plain"
_NOTHING: Final = "Nothing has been remembered here yet."

ProjectHere = Callable[[], str | None]
"""Return the project that the client works in, if known."""


def resources() -> ListResourcesResult:
    return ListResourcesResult(
        resources=[
            Resource(
                name="brief",
                title="Brief of this project",
                uri=BRIEF,
                description="The most important and most recent memories of the current project, "
                "then global ones.",
                mime_type=_TEXT,
            )
        ]
    )


def templates() -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(
                name="memory",
                title="A memory",
                uri_template=f"{MEMORY}{{id}}",
                description="One memory with all its fields, by its id or the end of it.",
                mime_type=_JSON,
            ),
            ResourceTemplate(
                name="project-brief",
                title="Brief of a project",
                uri_template=f"{BRIEF}/{{project}}",
                description="The same brief for a named project.",
                mime_type=_TEXT,
            ),
        ]
    )


async def read(recollect: Service, uri: str, project_here: ProjectHere) -> ReadResourceResult:
    """Read the resource at this address; raise MCPError if there is none."""
    if uri.startswith(MEMORY):
        from recollect.wire import memory as wire

        memory = await recollect.get(unquote(uri.removeprefix(MEMORY)))
        text = strip_invisible(wire.MEMORY.to_shape(memory).model_dump_json())
        return _contents(uri, _JSON, text)
    if uri == BRIEF:
        return _contents(uri, _TEXT, await _brief(recollect, project_here()))
    if uri.startswith(f"{BRIEF}/"):
        project = unquote(uri.removeprefix(f"{BRIEF}/"))
        return _contents(uri, _TEXT, await _brief(recollect, project))
    raise MCPError(INVALID_PARAMS, f"there is no resource {uri[:200]!r}")


async def _brief(recollect: Service, project: str | None) -> str:
    scope = Scope(project=project, with_global=True)
    found = await brief(recollect, scope, budget_tokens=Measure().tokens, now=datetime.now(UTC))
    return block(found.sentence, found.memories) or _NOTHING


def _contents(uri: str, kind: str, text: str) -> ReadResourceResult:
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=kind, text=text)])
