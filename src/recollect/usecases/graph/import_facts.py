"""Import facts from a file into the graph; they replace what was read from those memories.

Importing a file twice changes nothing. A line that cannot be used is reported and skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar
from uuid import UUID

from recollect.core.graph.extraction import BY_IMPORT, ExtractionJob
from recollect.core.graph.facts_file import FileFacts, LineError, read_file
from recollect.ports.graph import GraphStore

_BATCH: Final = 64

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with the number of memories that are done, and the total."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome of an import: lines read, memories filled, their mentions and facts, how many
    facts were left out, and the lines that could not be used, or only in part.
    """

    lines: int
    memories: int
    mentions: int
    facts: int
    left_out: int
    errors: tuple[LineError, ...]


async def import_facts(
    store: GraphStore,
    owner: str,
    lines: Iterable[str],
    *,
    ids: Mapping[str, UUID] | None = None,
    dry_run: bool = False,
    progress: Progress = lambda _done, _of: None,
) -> Imported:
    """Import a file's lines for one owner. `ids` maps the file's references to memories; without
    it, references are ids of memories. A dry run changes nothing.
    """
    file = read_file(lines)
    jobs = await _find_jobs(store, owner, file, ids)
    extractions = {reference: file.extraction(reference) for reference in jobs}
    lost = [file.left_out(reference, kept) for reference, kept in extractions.items()]
    file.errors.extend(error for errors in lost for error in errors)
    kept = 0
    if not dry_run:
        for batch in _batches(jobs.items(), _BATCH):
            done = [(job, extractions[reference]) for reference, job in batch]
            kept += await store.finish(done, BY_IMPORT)
            progress(kept, len(jobs))
        await _join_aliases(store, owner, file)
    return Imported(
        lines=file.read,
        memories=len(jobs) if dry_run else kept,
        mentions=sum(len(extraction.mentions) for extraction in extractions.values()),
        facts=sum(len(extraction.facts) for extraction in extractions.values()),
        left_out=sum(count for errors in lost for count in errors.values()),
        errors=tuple(sorted(file.errors, key=lambda error: error.line)),
    )


async def _find_jobs(
    store: GraphStore, owner: str, file: FileFacts, ids: Mapping[str, UUID] | None
) -> dict[str, ExtractionJob]:
    """Find the memories that the file refers to, by its references. Missing ones are reported."""
    by_reference: dict[str, UUID] = {}
    for reference, line in file.lines.items():
        id = _parse_id(reference) if ids is None else ids.get(reference)
        if id is None:
            file.errors.append(LineError(line, f"{reference[:60]!r} is not the id of a memory"))
        else:
            by_reference[reference] = id
    found: dict[UUID, ExtractionJob] = {}
    for batch in _batches(dict.fromkeys(by_reference.values()), 1_000):
        found |= {job.memory_id: job for job in await store.present(owner, batch)}
    for reference, id in by_reference.items():
        if id not in found:
            reason = f"there is no memory {reference[:60]}, or it is sensitive or forgotten"
            file.errors.append(LineError(file.lines[reference], reason))
    return {reference: found[id] for reference, id in by_reference.items() if id in found}


async def _join_aliases(store: GraphStore, owner: str, file: FileFacts) -> None:
    """Merge names that the file lists as aliases, unless someone has decided otherwise by hand."""
    for first, other in dict.fromkeys(file.aliases):
        concepts = await store.named(owner, [first, other])
        if len(concepts) == 2 and concepts[first] != concepts[other]:
            await store.merge(owner, concepts[first], concepts[other], by_hand=False)


def _parse_id(reference: str) -> UUID | None:
    try:
        return UUID(reference)
    except ValueError:
        return None


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
