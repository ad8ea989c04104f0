"""The arguments of the tools: the shapes of `wire`, described for a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import ConfigDict, Field

from recollect.core.memory.memory import Draft
from recollect.core.memory.project import project_to_store_in
from recollect.wire.inputs import ChangesIn, DraftIn, ListIn
from recollect.wire.recall_inputs import RecallIn, WhyIn
from recollect.wire.values import Input

_REFERENCE = "Its id, or an unambiguous end of it."
_SENSITIVE = "true: never leaves this machine."
# A schema with conditions and examples is more than some clients accept for a tool.
_PLAIN = ConfigDict(json_schema_extra={})


class StoreArguments(DraftIn):
    """A new memory."""

    model_config = _PLAIN

    is_global: bool = False

    def to_draft(self, here: str | None = None) -> Draft:
        named = None if self.project is None else self.project.strip() or None
        project = project_to_store_in(named, here, is_global=self.is_global)
        return replace(super().to_draft(), project=project)


class RecallArguments(RecallIn):
    """A question to the memory."""

    model_config = _PLAIN

    everywhere: bool = False
    # REST explains recalls by default; here, a model would have to read the explanation.
    explain: bool = False


class WhyArguments(WhyIn):
    """A memory and a question."""

    model_config = _PLAIN

    everywhere: bool = False

    id: str = Field(description=_REFERENCE)


class ListArguments(ListIn):
    """A page of a listing."""

    model_config = _PLAIN

    everywhere: bool = False


class GetArguments(Input):
    """One memory."""

    id: str = Field(description=_REFERENCE)


class UpdateArguments(ChangesIn):
    """One memory, and the fields to change."""

    model_config = _PLAIN

    id: str = Field(description=_REFERENCE)


class DeleteArguments(Input):
    """One memory, and how thoroughly to forget it."""

    id: str = Field(description=_REFERENCE)
    forever: bool = Field(
        default=False, description="Erase it permanently; only if the user asked to."
    )


class ReviewArguments(Input):
    """Which proposal, and what the user decided; without both, list them."""

    id: str | None = Field(default=None, description="A proposal's id.")
    decision: Literal["accept", "keep_older", "reject", "later", "undo"] | None = Field(
        default=None, description="Only what the user decided."
    )


class StatsArguments(Input):
    """Nothing."""


# Accepted but not advertised: no model can choose them sensibly.
UNLISTED = {
    "memory_store": {"id", "said_at"},
    "memory_list": {"with_global"},
    "memory_recall": {"weights", "with_global"},
    "memory_why": {
        *("weights", "is_sensitive", "sort_by", "exclude", "expanded_query", "with_global")
    },
}

# The descriptions a model gets, instead of those of the REST schema.
WORDS = {
    "as_of": "What was known at this time.",
    "based_on": "The version you read.",
    "category": "An episode needs a session.",
    "content": "Up to 100,000 characters.",
    "cursor": "next_cursor of the page before.",
    "everywhere": "In all projects.",
    "exclude": "Ids already seen.",
    "expanded_keywords": "Search words that the text lacks.",
    "expanded_query": "Synonyms.",
    "explain": "Why each hit is there.",
    "forgotten": "Forgotten ones too.",
    "importance": "0 trivial, 1 vital.",
    "is_sensitive": _SENSITIVE,
    "is_global": "In no project.",
    "kind": "supersedes: shown instead of the target.",
    "limit": "How many at most.",
    "links": "All its links.",
    "project": "Its repository.",
    "query": "In plain words.",
    "scope": "Where to look.",
    "session": "Its conversation.",
    "sort_by": "How to order.",
    "tags": "Filed under.",
    "target": "Whole id.",
    "weights": "Of the legs.",
    "valid_from": "Recalled from then on.",
    "valid_until": "Recalled until then.",
}
OF_A_SCOPE = {
    "categories": "Any of these.",
    "project": "Only its memories.",
    "sessions": "Any of these.",
    "since": "From this time on.",
    "tags": "All of these.",
    "until": "Before this time.",
}
