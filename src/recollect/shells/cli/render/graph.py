"""The concept graph as text for people."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import RenderableType

from recollect.core.graph.model import GraphPath, GraphStats, Neighbourhood, Relationship
from recollect.core.memory.ids import short
from recollect.core.text.analysis import counted
from recollect.shells.cli.framework.output import escape_controls, local_time
from recollect.shells.cli.render.tables import facts, plain_table


def neighbourhood(found: Neighbourhood) -> list[RenderableType]:
    concept = found.concept
    rows = {
        "concept": concept.name,
        "kind": concept.kind,
        "also called": ", ".join(concept.aliases),
        "mentioned by": counted(concept.mentions, "memory"),
        "latest": ", ".join(short(id) for id in found.memories[:5]),
        "mentioned with": ", ".join(f"{name} ({many})" for name, many in found.together),
        "near": ", ".join(f"{name} ({near:.2f})" for name, near in found.near),
    }
    shown: list[RenderableType] = [facts(rows)]
    if found.relationships:
        table = plain_table("from", "relation", "to", "since", "until", "stated by")
        for relationship in found.relationships:
            table.add_row(
                escape_controls(found.labels[relationship.source]),
                escape_controls(relationship.relation),
                escape_controls(found.labels[relationship.target]),
                local_time(relationship.valid_from),
                _until(relationship),
                ", ".join(short(id) for id in relationship.evidence[:3]),
            )
        shown += ["", table]
    return shown


def _until(relationship: Relationship) -> str:
    ends = [f"withdrawn {local_time(relationship.known_until)}"] if relationship.known_until else []
    ends += [local_time(relationship.valid_to)] if relationship.valid_to else []
    return ", ".join(ends)


def path_lines(path: GraphPath | None, source: str, target: str) -> list[RenderableType]:
    if path is None:
        ends = f"{escape_controls(source)} and {escape_controls(target)}"
        return [f"no path connects {ends} within six steps"]
    if not path.steps:
        return [f"{escape_controls(source)} and {escape_controls(target)} are the same concept"]
    table = plain_table("from", "relation", "to", "stated by")
    for step in path.steps:
        table.add_row(
            escape_controls(step.source_label),
            escape_controls(step.relation),
            escape_controls(step.target_label),
            ", ".join(short(id) for id in step.evidence),
        )
    return [table]


def stats_rows(stats: GraphStats) -> dict[str, str]:
    return {
        "memories": str(stats.memories),
        "concepts": f"{stats.concepts}, and {counted(stats.aliases, 'other name')}",
        "mentions": str(stats.mentions),
        "relationships": f"{stats.relationships}, {stats.ended} ended, {stats.withdrawn} no longer "
        "stated",
        "near synonyms": str(stats.near),
        "kinds": _counts(stats.by_kind),
        "relations": _counts(stats.by_relation),
        "most mentioned": _counts(stats.most_mentioned),
        "version": str(stats.version),
    }


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {many}" for name, many in counted.items())
