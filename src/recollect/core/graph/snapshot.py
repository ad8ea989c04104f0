"""Convert the rows of a graph to the columns that a walk reads."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from recollect.core.graph.extraction import ExtractionJob, read_by_rules
from recollect.core.graph.model import GraphSnapshot

MAX_FORMER: Final = 2_000
"""The most former texts that are read for one query; those changed last come first."""


@dataclass(frozen=True, slots=True)
class FormerText:
    """A memory that was changed since a moment. `text`: what it said then, if it may be read."""

    memory: UUID
    text: ExtractionJob | None


@dataclass(frozen=True, slots=True)
class PastMentions:
    """`outdated`: memories whose present mentions say nothing about that moment. `mentioned`: what
    some of them mentioned then.
    """

    outdated: frozenset[UUID] = frozenset()
    mentioned: dict[UUID, list[UUID]] = field(default_factory=dict)


def read_former(former: Iterable[FormerText]) -> dict[UUID, list[str]]:
    """Return the names that former texts mention, by the rules."""
    texts = [each.text for each in former if each.text is not None][:MAX_FORMER]
    return {
        job.memory_id: [mention.key for mention in read_by_rules(job).mentions] for job in texts
    }


def past_mentions(
    former: Iterable[FormerText], keys: Mapping[UUID, Collection[str]], known: Mapping[str, UUID]
) -> PastMentions:
    """Return what was mentioned then, as far as the graph still knows the names."""
    mentioned = {
        id: sorted({known[key] for key in found if key in known}) for id, found in keys.items()
    }
    return PastMentions(
        frozenset(each.memory for each in former),
        {id: found for id, found in mentioned.items() if found},
    )


def to_snapshot(
    version: int,
    concepts: Sequence[tuple[UUID, str, str]],
    mentions: Iterable[tuple[UUID, Collection[UUID], bool]],
    past: PastMentions,
    edges: Sequence[tuple[UUID, UUID, float, bool]],
) -> GraphSnapshot:
    """`concepts`: id, name and kind. `mentions`: a memory, its concepts, and whether a language
    model has read it. `edges`: source, target and weight; near synonyms, which are marked, last.
    """
    places = {id: place for place, (id, _, _) in enumerate(concepts)}
    present = [row for row in mentions if row[0] not in past.outdated]
    by_model = sum(is_by_model for _, _, is_by_model in present)
    memories: list[UUID] = []
    mentioning, mentioned = array("i"), array("i")
    current = [(memory, ids) for memory, ids, _ in present]
    for memory, ids in (*current, *past.mentioned.items()):
        mentioned.extend([places[id] for id in ids])
        mentioning.extend([len(memories)] * len(ids))
        memories.append(memory)
    return GraphSnapshot(
        version=version,
        memories=tuple(memories),
        concepts=tuple(places),
        labels=tuple(name for _, name, _ in concepts),
        kinds=tuple(kind for _, _, kind in concepts),
        mention_memories=mentioning,
        mention_concepts=mentioned,
        mention_weights=array("f", [1.0]) * len(mentioned),
        edge_sources=array("i", [places[source] for source, _, _, _ in edges]),
        edge_targets=array("i", [places[target] for _, target, _, _ in edges]),
        edge_weights=array("f", [weight for _, _, weight, _ in edges]),
        near=sum(is_near for _, _, _, is_near in edges),
        by_model=by_model / len(memories) if memories else 0.0,
    )
