"""Memories, hits and numbers as tables for people.

Ids are never wrapped or cut. A memory's text is only text: square brackets in it are not markup,
and escape sequences are not executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from rich import box
from rich.table import Table
from rich.text import Text

from recollect.core.admin.checks import PARKED_REMEDY, Check
from recollect.core.admin.languages import describe_uncovered_languages, other_model
from recollect.core.memory.ids import short, short_ids
from recollect.core.memory.memory import FIELDS, STATED_FIELDS
from recollect.core.memory.project import short_names
from recollect.core.recall.request import Passage
from recollect.core.text.analysis import counted, excerpt
from recollect.shells.cli.framework.output import (
    escape_controls,
    local_date,
    local_time,
    one_line,
    zoned_time,
)

if TYPE_CHECKING:
    from recollect.core.admin.stats import CurationCounts, Stats
    from recollect.core.graph.model import ExtractionProgress
    from recollect.core.memory.fields import Field
    from recollect.core.memory.memory import Memory
    from recollect.core.privacy.keys import Key
    from recollect.core.recall.request import (
        Hit,
        LegName,
        LegPlace,
        LegReport,
        Recollection,
        RerankPlace,
        RerankReport,
    )
    from recollect.core.recall.space import EmbeddingStats

_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MIN_SHOWN = 0.0001
_PROJECT_WIDTH = 24
# Texts up to about the length of a passage are shown whole.
_MAX_SHOWN_WHOLE = 1_500
_MAX_LISTED = 300
_STATUS_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def listing(memories: Sequence[Memory], ids: Mapping[UUID, str]) -> Table:
    """Build the table of a listing. `ids` are the shown ids of the memories and of those that
    replaced them.
    """
    projects = _project_cells(memories)
    table = _memory_table("id", "stored", "category", has_projects=any(projects))
    for memory, project in zip(memories, projects, strict=True):
        stored = local_time(memory.created_at)
        text = _excerpt(memory)
        if memory.superseded_by is not None:
            text.append(f"  replaced by {ids[memory.superseded_by]}", style="dim")
        table.add_row(ids[memory.id], stored, memory.category, *project, text)
    return table


def hits(recollection: Recollection, ids: Mapping[UUID, str], *, explain: bool) -> Table:
    """Build the table of hits. `ids` are the shown ids of the hits and their link targets."""
    found = recollection.hits
    projects = _project_cells([hit.memory for hit in found])
    table = _memory_table("id", "confidence", "stored", "category", has_projects=any(projects))
    table.columns[1].justify = "right"
    for hit, project in zip(found, projects, strict=True):
        memory = hit.memory
        passage = hit.passage or _beginning(memory)
        text = _content(memory) if passage is None else _passage(memory, passage)
        for line in _link_lines(hit, ids):
            text.append(f"\n{line}", style="dim")
        if explain:
            text.append(f"\n{_why(hit)}", style="dim")
        stored = local_date(memory.created_at)
        table.add_row(
            ids[memory.id], f"{hit.confidence:.0%}", stored, memory.category, *project, text
        )
    return table


def legs(recollection: Recollection) -> Text:
    reports = "; ".join(f"{name} {_leg(report)}" for name, report in recollection.legs.items())
    stage = recollection.rerank
    second = f"; {_stage(stage)}" if stage is not None else ""
    whole = f"fusion {recollection.fusion}; {recollection.took_ms:.1f} ms"
    return Text(f"legs: {reports}{second}; {whole}")


_TITLES: Final = {"expanded_keywords": "keywords", "is_sensitive": "sensitive"}


def card(memory: Memory, links: Iterable[str] = (), successor: str = "") -> Table:
    """Build the card of a memory, with all fields and its full id. `successor` replaced it."""
    rows = {
        "id": str(memory.id),
        **_describe(memory, lambda field: field.kind != "moment"),
        "stored": zoned_time(memory.created_at),
        "changed": zoned_time(memory.updated_at),
        **_describe(memory, lambda field: field.kind == "moment"),
        "version": str(memory.version),
        "changed by": memory.changed_by or "",
        "links": "\n".join(links),
        "replaced by": successor,
    }
    return facts({**rows, "memory": memory.content})


def _describe(memory: Memory, is_shown: Callable[[Field], bool]) -> dict[str, str]:
    """Return the fields that people set, by title."""
    fields = [FIELDS[name] for name in STATED_FIELDS if name != "content"]
    return {
        _TITLES.get(field.name, field.name.replace("_", " ")): _as_text(getattr(memory, field.name))
        for field in fields
        if is_shown(field)
    }


def _as_text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case datetime():
            return zoned_time(value)
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def facts(rows: Mapping[str, str]) -> Table:
    """Build a table of names and values; empty values are left out."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        if value:
            table.add_row(name, Text(escape_controls(value)))
    return table


def rows(found: Iterable[Mapping[str, object]]) -> Table:
    """Build a table of items with the same fields, one per row."""
    listed = list(found)
    table = plain_table(*(name.replace("_", " ") for name in listed[0]))
    for row in listed:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    return table


def stats_rows(stats: Stats) -> dict[str, str]:
    return {
        "memories": str(stats.memories),
        "forgotten": str(stats.forgotten),
        "sensitive": str(stats.sensitive),
        "expiring": _describe_expiring(stats.expiring),
        "categories": _counts(stats.by_category),
        "projects": _counts(stats.by_project),
        "languages": _counts(stats.by_language),
        **({} if stats.embedding is None else _embedding_rows(stats.embedding)),
        "other languages": _describe_uncovered(stats),
        **({} if stats.graph is None else _graph_rows(stats.graph)),
        **({} if stats.curation is None else _curation_rows(stats.curation)),
    }


def _describe_expiring(memories: int) -> str:
    return f"{memories} within 7 days; see `recollect audit --kind expiring`" if memories else ""


def _curation_rows(counts: CurationCounts) -> dict[str, str]:
    waiting = f"{counts.undecided} to decide; run `recollect review`" if counts.undecided else ""
    applied = f"{counts.applied} applied; `recollect undo` reverts them" if counts.applied else ""
    return {"proposals": waiting, "curator": applied}


def _describe_uncovered(stats: Stats) -> str:
    found = describe_uncovered_languages(stats)
    return "" if found is None else f"{found}\n→ {other_model(stats)}"


def checks(done: Iterable[Check]) -> Table:
    table = plain_table("check", "", "found")
    for check in done:
        found = Text(one_line(check.detail))
        if check.remedy:
            found.append(f"\n→ {one_line(check.remedy)}")
        table.add_row(check.name, Text(check.status, style=_STATUS_STYLES[check.status]), found)
    return table


def keys(known: Sequence[Key], now: datetime) -> Table:
    ids = short_ids(key.id for key in known)
    table = plain_table("id", "owner", "label", "role", "project", "created", "last used", "ends")
    for key in known:
        table.add_row(
            ids[key.id],
            Text(one_line(key.owner)),
            Text(one_line(key.label)),
            key.role,
            Text(one_line(key.project or "")),
            local_date(key.created_at),
            local_date(key.last_used_at) if key.last_used_at else "",
            _end(key, now),
        )
    return table


def _end(key: Key, now: datetime) -> str:
    if key.revoked_at is not None:
        return f"{'revoked' if key.is_revoked(now) else 'valid until'} {local_time(key.revoked_at)}"
    if key.expires_at is not None:
        return f"{'expired' if key.is_expired(now) else 'expires'} {local_date(key.expires_at)}"
    return ""


def amount(score: float) -> str:
    """Format a fused score: 1 to 100 if ranked by standout, a few hundredths if by reciprocal
    ranks. The graph walk gives memories that it does not reach almost zero, which is not shown as
    zero.
    """
    if 0.0 < score < _MIN_SHOWN:
        return f"<{_MIN_SHOWN:.4f}"
    return f"{score:.2f}" if score >= 1.0 else f"{score:.4f}"


def plain_table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns[:-1]:
        table.add_column(name, no_wrap=True)
    table.add_column(columns[-1], overflow="fold")
    return table


def _memory_table(*columns: str, has_projects: bool) -> Table:
    """Build a table of memories. Of the columns before the text, only projects may wrap."""
    table = plain_table(*columns, *(["project"] if has_projects else []), "memory")
    if has_projects:
        projects = table.columns[-2]
        projects.no_wrap, projects.overflow, projects.max_width = False, "fold", _PROJECT_WIDTH
    return table


def _project_cells(memories: Sequence[Memory]) -> list[tuple[Text, ...]]:
    """Return each memory's project cell; no cells if all have the same project."""
    projects = {memory.project for memory in memories}
    if len(projects) < 2:
        return [()] * len(memories)
    names = short_names(project for project in projects if project is not None)
    shown = ("(global)" if memory.project is None else names[memory.project] for memory in memories)
    return [(Text(one_line(name)),) for name in shown]


def _content(memory: Memory) -> Text:
    text = Text(escape_controls(memory.content))
    if memory.is_sensitive:
        text.append("  sensitive", style="yellow")
    if memory.valid_from is not None:
        text.append(f"  valid from {local_time(memory.valid_from)}", style="dim")
    if memory.valid_until is not None:
        text.append(f"  valid until {local_time(memory.valid_until)}", style="dim")
    return text


def _excerpt(memory: Memory) -> Text:
    """Return the beginning of a memory, on one line."""
    line = one_line(memory.content)
    shown = excerpt(line, _MAX_LISTED)
    text = _content(replace(memory, content=shown))
    if shown != line:
        text.append(f"  {len(memory.content):,} characters", style="dim")
    return text


def _beginning(memory: Memory) -> Passage | None:
    """Return what to show of a long text if no passage of it matched."""
    if len(memory.content) <= _MAX_SHOWN_WHOLE:
        return None
    return Passage(memory.content[:_MAX_SHOWN_WHOLE], 0, _MAX_SHOWN_WHOLE)


def _passage(memory: Memory, passage: Passage) -> Text:
    """Return the matched part of a long text, and where it is."""
    length = len(memory.content)
    text = _content(replace(memory, content=passage.excerpt(length)))
    place = f"characters {passage.start + 1:,} to {passage.end:,} of {length:,}"
    return text.append(f"\n{place}", style="dim")


def _link_lines(hit: Hit, ids: Mapping[UUID, str]) -> Iterator[str]:
    """Yield a line for what each link of a hit leads to."""
    if hit.stands_for:
        yield f"stands for {', '.join(ids[id] for id in hit.stands_for)}, which it supersedes"
    if hit.newer_than is not None:
        older, reason = ids[hit.newer_than.id], one_line(hit.newer_than.reason)
        yield f"shown before {older}, which it updates: {reason}"
    if hit.duplicates:
        yield f"and {len(hit.duplicates)} more like it"
    for memory in hit.attached:
        text = excerpt(one_line(memory.content), _MAX_LISTED)
        yield f"resolved by {ids[memory.id]}: {text}"
    for pointer in hit.pointers:
        gone = " (missing)" if pointer.is_dangling else ""
        yield f"{one_line(pointer.kind).replace('_', ' ')} {ids[pointer.target]}{gone}"


def _why(hit: Hit) -> str:
    """Format the hit's score as a sum that a person can check."""
    shares = " + ".join(
        f"{name} {amount(place.contribution)} ({_where(name, place)})"
        for name, place in hit.legs.items()
    )
    graph = hit.legs.get("graph")
    led = f"; by {_path(graph.path)}" if graph is not None and graph.path else ""
    rerank = hit.rerank
    judged = f"; second stage {rerank.score:.3g}, was #{rerank.former_place}" if rerank else ""
    words = format_matched_words(rerank, hit.memory.content)
    matched = f"; matched {words}" if words else ""
    total = f"fused {amount(hit.fused)} × prior {hit.prior:.3f} = {amount(hit.score)}"
    return f"{shares} = {total}{judged}{matched}{led}"


def format_matched_words(rerank: RerankPlace | None, content: str) -> str:
    """Format the query's words with their best matches in a memory, most informative first."""
    return ", ".join(
        f"{one_line(match.word)} ~ {one_line(content[match.start : match.end])} "
        f"({match.similarity:.2f})"
        for match in (rerank.words if rerank is not None else ())
    )


def _where(name: LegName, place: LegPlace) -> str:
    if place.rank is None:
        return "not reached"
    evidence = "" if name == "graph" else f", evidence {place.evidence:.2f}"
    return f"rank {place.rank}, score {place.score:.3g}{evidence}"


def _path(path: Sequence[str]) -> str:
    """Format the path that led to a hit, with short ids; it starts at a memory or the query."""
    steps = [short(UUID(step)) if _is_id(step) else one_line(step) for step in path]
    return " → ".join([*([] if _is_id(path[0]) else ["the query"]), *steps])


def _is_id(step: str) -> bool:
    return _ID.fullmatch(step) is not None


def _leg(report: LegReport) -> str:
    if report.status == "ran":
        why = f" ({report.note})" if report.note else ""
        return f"found {report.found} in {report.took_ms:.1f} ms at weight {report.weight:g}{why}"
    return f"{report.status}: {one_line(report.note)}" if report.note else report.status


def _stage(report: RerankReport) -> str:
    name = "second stage" if report.stage == "late" else report.stage
    if report.status == "ran":
        return f"{name} ranked {report.reranked} in {report.took_ms:.1f} ms"
    status = "timed out" if report.status == "late" else report.status
    return f"{name} {status}: {one_line(report.note)}" if report.note else f"{name} {status}"


def _embedding_rows(embedding: EmbeddingStats) -> dict[str, str]:
    parked = f", {embedding.parked} parked" if embedding.parked else ""
    return {
        "model": embedding.embedder,
        "space": embedding.space,
        "embedding": f"{embedding.embedded} embedded, {embedding.waiting} waiting{parked}",
        "token vectors": f"{embedding.token_bytes / 1_000_000:.1f} MB"
        if embedding.token_bytes
        else "",
        "last error": _trouble(embedding.last_error, embedding.parked),
    }


def _graph_rows(reading: ExtractionProgress) -> dict[str, str]:
    parked = f", {reading.parked} parked" if reading.parked else ""
    names = f", {counted(reading.to_compare, 'name')} to compare" if reading.to_compare else ""
    return {
        "graph": f"{reading.extracted} read, {reading.waiting} waiting{parked}{names}",
        "language model": f"{counted(reading.calls_today, 'call')}, "
        f"{counted(reading.tokens_today, 'token')} today"
        if reading.calls_today
        else "",
        "last graph error": _trouble(reading.last_error, reading.parked),
    }


def _trouble(error: str | None, parked: int) -> str:
    """Format the last error, and how to retry what it parked."""
    return one_line(error or "") + (f"\n→ {PARKED_REMEDY}" if parked else "")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else one_line(str(value))


def _counts(numbers: Mapping[str, int]) -> str:
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{one_line(name)} {number}" for name, number in ordered)
