"""Requests to the memory: recall, why, and the search of episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import ConfigDict, Field, Strict
from pydantic.json_schema import SkipJsonSchema

from recollect.core.memory.memory import EPISODE, Scope, check_name
from recollect.core.recall.request import MAX_LIMIT, LegName, RecallRequest, SortBy
from recollect.core.text.analysis import MAX_QUERY_CHARS
from recollect.wire.codec import build
from recollect.wire.inputs import ScopeIn
from recollect.wire.values import REFERENCE, Id, Input, Moment, Name, Text, Weight, Whole

_EXAMPLE: dict[str, Any] = {
    "query": "When can I write to staging?",
    "limit": 5,
    "scope": {"project": "shop"},
    "weights": {"lexical": 1.0},
}


class QuestionIn(Input):
    """A recall request, however its answer is shown."""

    query: Text = Field(
        description=f"Any text. Of more than {MAX_QUERY_CHARS:,} characters, the first and the"
        f" last {MAX_QUERY_CHARS // 2:,} are read."
    )
    expanded_query: Text = Field(
        default="", description="Extra words for the lexical leg to search."
    )
    limit: Whole = Field(default=10, json_schema_extra={"minimum": 1, "maximum": MAX_LIMIT})
    sort_by: SortBy = "relevance"
    scope: ScopeIn = ScopeIn()
    exclude: list[Id] = Field(default=[], description="Memories that are already in the prompt.")
    weights: dict[LegName, Weight] = Field(
        default={}, description="Weights for this recall only; 0 turns a leg off."
    )
    is_sensitive: bool = Field(
        default=False,
        description="Do not send the query to a model on another machine.",
    )
    as_of: Moment | None = Field(
        default=None,
        description="Recall what was known at this time, as worded then; searches by words.",
    )

    def to_request(self, *, counts_words: bool = False) -> RecallRequest:
        return build(RecallRequest, self, counts_words=counts_words)


class RecallIn(QuestionIn):
    """A query to the memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**_EXAMPLE, "explain": True}]})

    explain: bool = Field(default=True, description="Explain why each hit is there.")


class ResidentIn(Input):
    """A query to the process that holds the model of a home, which may have several owners."""

    owner: str
    recall: RecallIn


class WhyIn(QuestionIn):
    """A memory and a query: is it recalled for the query, and if not, why?"""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9e", **_EXAMPLE}]}
    )

    id: str = Field(
        description="The memory's id, or at least 4 digits of its end.",
        json_schema_extra={"pattern": REFERENCE},
    )


class EpisodesIn(Input):
    """A search of conversations, as query parameters."""

    q: str = Field(description="What to search for, in any words.")
    session_ids: list[Name] = Field(
        default=[],
        description="Only these sessions; all by default. Repeat the parameter, or separate names "
        "with commas. A name that contains a comma is matched as a whole, too.",
    )
    project: Name | SkipJsonSchema[None] = None
    since: Moment | SkipJsonSchema[None] = None
    until: Moment | SkipJsonSchema[None] = None
    limit: Annotated[int, Strict(strict=False)] = Field(
        default=10, json_schema_extra={"minimum": 1, "maximum": MAX_LIMIT}
    )
    sort_by: SortBy = "relevance"
    is_sensitive: Annotated[bool, Strict(strict=False)] = Field(
        default=False,
        description="Do not send the query to a model on another machine.",
    )
    as_of: Moment | SkipJsonSchema[None] = Field(
        default=None, description="Recall what was known at this time, as worded then."
    )
    explain: Annotated[bool, Strict(strict=False)] = Field(
        default=False, description="Explain why each hit is there."
    )

    def to_request(self) -> RecallRequest:
        return RecallRequest(
            query=self.q,
            limit=self.limit,
            sort_by=self.sort_by,
            scope=Scope(
                project=self.project,
                sessions=tuple(_sessions(self.session_ids)),
                categories=(EPISODE,),
                since=self.since,
                until=self.until,
            ),
            is_sensitive=self.is_sensitive,
            as_of=self.as_of,
        )


def _sessions(named: Iterable[str]) -> Iterator[str]:
    """Yield each value as given, and split at its commas: lists in a URL are often written that
    way.
    """
    for name in named:
        yield check_name(name, "session_ids")
        if "," in name:
            yield from filter(None, map(str.strip, name.split(",")))
