"""What the tools cost a model to read, and that their short texts lead to the right tool."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import log
from uuid import uuid4

from recollect.core.recall.relevance import stem
from recollect.core.text.stop_words import english_stop_words
from recollect.shells.mcp import compact
from recollect.shells.mcp.server import definition
from recollect.shells.mcp.tools import TOOLS

# Intents, by the tool that serves them.
INTENTS = {
    "memory_store": (
        "remember that I prefer dark mode",
        "please note that the release is on Tuesday",
        "save this decision and the reason for it",
        "keep in mind that Nadia leads the project",
        "we learned a lesson today, store it for later conversations",
        "don't forget this preference",
        "here is a fact about the user that matters later",
        "I decided to use Postgres, remember it",
    ),
    "memory_recall": (
        "what do we know about the billing service",
        "what did I say earlier about deployments",
        "search for anything known about Odense",
        "find what was said about the ferry before",
        "look for the answer I may have given before",
        "at the start of this task, is something already known about it",
        "which best match do you find for release notes",
        "what did the user answer when asked this before",
    ),
    "memory_why": (
        "why was this memory not recalled",
        "explain why that memory is missing from the results",
        "why did this rank so low for the query",
        "what kept it out of the recall",
        "explain the score of this memory for my query",
    ),
    "memory_list": (
        "list all memories of this project, newest first",
        "page through the stored memories",
        "what does this session hold",
        "show the newest stored memories",
        "go to the next page of the memories",
    ),
    "memory_get": (
        "read the memory with this id",
        "show all fields of one memory",
        "open memory by its id",
    ),
    "memory_update": (
        "correct the memory, the fact was wrong",
        "change the tags field of that memory",
        "this fact has changed, correct it",
        "complete the memory that is there",
        "edit the fields of this memory, it has changed",
    ),
    "memory_delete": (
        "forget that memory",
        "delete the outdated memory",
        "remove what is unwanted",
        "erase it forever",
        "this one is wrong and unwanted, forget it",
    ),
    "memory_review": (
        "which proposals are there to review",
        "ask me about each pair of duplicates",
        "undo the decision you accepted",
    ),
    "memory_stats": (
        "how many memories are there",
        "count the memories by category",
        "which projects have memories, in numbers",
        "how many are sensitive or forgotten in all",
    ),
}


def words(text: str) -> list[str]:
    found = re.findall(r"[a-z0-9]+", text.lower())
    return [stem(word) for word in found if word not in english_stop_words()]


def choose_tool(intent: str, described: dict[str, Counter[str]]) -> str:
    """Return the tool whose name and description fit best by BM25, with its usual constants."""
    frequency = Counter(word for counts in described.values() for word in counts)
    mean = sum(counts.total() for counts in described.values()) / len(described)

    def score(name: str) -> float:
        counts = described[name]
        length = 1.2 * (0.25 + 0.75 * counts.total() / mean)
        return sum(
            log(1 + (len(described) - frequency[word] + 0.5) / (frequency[word] + 0.5))
            * counts[word]
            * 2.2
            / (counts[word] + length)
            for word in set(words(intent))
            if word in counts
        )

    return max(described, key=lambda name: (score(name), name))


def test_an_intent_leads_to_its_tool() -> None:
    """Descriptions of twice the length, which these replaced, led 39 of the 43 to their tool."""
    described = {
        tool.name: Counter(words(f"{tool.name.replace('_', ' ')} {tool.description}"))
        for tool in TOOLS
    }
    right = [
        intent
        for tool, intents in INTENTS.items()
        for intent in intents
        if choose_tool(intent, described) == tool
    ]
    assert sum(map(len, INTENTS.values())) == 46
    assert len(right) >= 42


def test_the_definitions_stay_short() -> None:
    """A model reads name, description and arguments of each tool in every conversation; clients
    also read what a tool answers.
    """
    definitions = [definition(tool).model_dump(mode="json", by_alias=True) for tool in TOOLS]
    read = [
        {name: tool[name] for name in ("name", "description", "inputSchema")}
        for tool in definitions
    ]
    assert sum(len(json.dumps(tool)) for tool in read) <= 9_520
    assert sum(len(json.dumps(tool)) for tool in definitions) <= 24_710


def test_arguments_are_described_except_those_no_model_can_choose() -> None:
    unlisted = {
        (tool.name, name)
        for tool in TOOLS
        for name in tool.arguments.model_fields
        if name not in definition(tool).input_schema["properties"]
    }
    assert unlisted == {
        ("memory_store", "id"),
        ("memory_store", "said_at"),
        ("memory_list", "with_global"),
        ("memory_recall", "weights"),
        *(
            ("memory_why", name)
            for name in ("weights", "is_sensitive", "sort_by", "exclude", "expanded_query")
        ),
    }


def test_an_answer_repeats_nothing_and_omits_empty_fields() -> None:
    memory = {
        "id": str(uuid4()),
        "owner": "ada",
        "content": "Nadia prefers tea.",
        "tags": [],
        "links": [],
        "is_sensitive": False,
        "project": None,
        "importance": 0.0,
        "version": 1,
        "created_at": "2026-03-06T09:30:12Z",
        "updated_at": "2026-03-06T09:30:12Z",
    }
    short = {
        name: memory[name] for name in ("id", "content", "importance", "version", "created_at")
    }
    assert compact.answer(memory) == short
    changed = {**memory, "version": 2, "updated_at": "2026-03-07T09:30:12Z", "tags": ["a"]}
    assert compact.answer(changed).keys() == {*short, "updated_at", "tags"}
    hit = {"memory": memory, "score": 1.5, "explanation": None}
    recalled = {"hits": [hit], "degraded": [], "fusion": "standout", "legs": {"dense": {}}}
    assert compact.answer(recalled, explained=False) == {
        "hits": [{"memory": short, "score": 1.5}],
        "degraded": [],
    }
    assert compact.answer(recalled).keys() == recalled.keys()
    assert compact.answer({"hits": []}, explained=False) == {"hits": []}


def test_a_long_memory_is_answered_with_its_passage_alone() -> None:
    memory = {"id": str(uuid4()), "owner": "ada", "content": "x " * 9_000, "version": 1}
    passage = {"text": "x x", "start": 40, "end": 43}
    hit = {"memory": memory, "score": 1.5, "passage": passage}
    (answered,) = compact.answer({"hits": [hit]})["hits"]
    assert answered["passage"] == passage
    assert answered["memory"] == {"id": memory["id"], "version": 1}
