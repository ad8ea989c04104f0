"""What the tools take: the shapes of `wire`, with what a model needs to know to fill them in."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from pydantic import ConfigDict, Field

from recollect.core.memory import Changes, Draft
from recollect.core.project import project_to_store_in
from recollect.wire.inputs import ChangesIn, DraftIn, ListIn
from recollect.wire.questions import RecallIn, WhyIn
from recollect.wire.values import Input

_REFERENCE = "The memory's id, or an unambiguous beginning of it (at least 4 characters)."
_SENSITIVE = (
    "true: never embedded, extracted from, or sent to another machine. Leave it out if you are not "
    "told: a text that looks like a password or key is recognised. false only when the user says "
    "that a text which looks so is none."
)
_EVERYWHERE = (
    "true: look in all projects. Unsaid, and without a project, it looks in the project that the "
    "client works in, where that is known, and in global memories."
)
# A schema of conditions and examples is more than some clients accept for a tool.
_PLAIN = ConfigDict(json_schema_extra={})


class StoreArguments(DraftIn):
    """A new memory."""

    model_config = _PLAIN

    is_sensitive: bool | None = Field(default=None, description=_SENSITIVE)
    is_global: bool = Field(
        default=False,
        description="true: it holds everywhere and belongs to no project. Unsaid, and without a "
        "project, it belongs to the project that the client works in, where that is known.",
    )

    def to_draft(self, here: str | None = None) -> Draft:
        named = None if self.project is None else self.project.strip() or None
        project = project_to_store_in(named, here, is_global=self.is_global)
        values = {name: value for name, value in self if name != "is_global"}
        return replace(DraftIn.model_construct(**values).to_draft(), project=project)


class RecallArguments(RecallIn):
    """A question to the memory."""

    model_config = _PLAIN

    everywhere: bool = Field(default=False, description=_EVERYWHERE)
    # Over REST a recall is explained unless told otherwise; here a model would read all of it.
    explain: bool = Field(default=False, description="Say of each hit why it is there.")


class WhyArguments(WhyIn):
    """A memory and a question."""

    model_config = _PLAIN

    everywhere: bool = Field(default=False, description=_EVERYWHERE)

    id: str = Field(description=_REFERENCE)


class ListArguments(ListIn):
    """A page of a listing."""

    model_config = _PLAIN

    everywhere: bool = Field(default=False, description=_EVERYWHERE)


class GetArguments(Input):
    """One memory."""

    id: str = Field(description=_REFERENCE)


class UpdateArguments(ChangesIn):
    """One memory, and the fields to change."""

    model_config = _PLAIN

    id: str = Field(description=_REFERENCE)

    def to_changes(self) -> Changes:
        named = {name: value for name, value in super().to_changes().items() if name != "id"}
        return cast("Changes", named)


class DeleteArguments(Input):
    """One memory, and how thoroughly to forget it."""

    id: str = Field(description=_REFERENCE)
    forever: bool = Field(
        default=False, description="Erase it without a trace; only when the user asked for that."
    )


class StatsArguments(Input):
    """Nothing."""


# For the fields that need no words in a REST schema: those of a memory, and those of a scope.
OF_A_MEMORY = {
    "category": "What kind of memory it is. An episode is one turn of a conversation and needs a "
    "session.",
    "expanded_keywords": "Extra words to find it by.",
    "is_sensitive": _SENSITIVE,
    "limit": "How many to return at most.",
    "links": "What it says of other memories, by whole ids. supersedes: it is served in the "
    "target's place from now on. An update replaces all links.",
    "project": "The project, such as a repository's name, of which the end will do (`shop`); leave "
    "it out for the one that the client works in.",
    "scope": "Which memories take part; leave it out for all.",
    "session": "The conversation it was said in.",
    "sort_by": "`relevance` unless the newest or the most important are wanted.",
    "tags": "What it is filed under.",
}
OF_A_SCOPE = {
    "categories": "Only memories of any of these categories.",
    "limit": OF_A_MEMORY["limit"],
    "project": "Only memories of this project.",
    "sessions": "Only memories of any of these sessions.",
    "since": "Only what was stored at or after this time, with its zone.",
    "tags": "Only memories that have all of these tags.",
    "until": "Only what was stored before this time, with its zone.",
}
