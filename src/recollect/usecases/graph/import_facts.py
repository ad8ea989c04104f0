"""Put ready-made facts into the graph, in the place of what was read in those memories.

Importing a file twice changes nothing. A line that cannot be used is reported and left out.
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

One = TypeVar("One")
Progress = Callable[[int, int], None]
"""Told how many memories are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file: lines read, memories filled, what they mention and state, how many
    facts of those memories were left out, and the lines that could not be used, or not whole.
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
    """Import a file's lines for one owner. `ids` says which memory a reference of the file means;
    without it a reference is a memory's id. A dry run changes nothing.
    """
    said = read_file(lines)
    jobs = await _jobs(store, owner, said, ids)
    extractions = {reference: said.extraction(reference) for reference in jobs}
    lost = [said.left_out(reference, kept) for reference, kept in extractions.items()]
    said.errors.extend(error for errors in lost for error in errors)
    kept = 0
    if not dry_run:
        for batch in _batches(jobs.items(), _BATCH):
            done = [(job, extractions[reference]) for reference, job in batch]
            kept += await store.finish(done, BY_IMPORT)
            progress(kept, len(jobs))
        await _join_aliases(store, owner, said)
    return Imported(
        lines=said.read,
        memories=len(jobs) if dry_run else kept,
        mentions=sum(len(extraction.mentions) for extraction in extractions.values()),
        facts=sum(len(extraction.facts) for extraction in extractions.values()),
        left_out=sum(count for errors in lost for count in errors.values()),
        errors=tuple(sorted(said.errors, key=lambda error: error.line)),
    )


async def _jobs(
    store: GraphStore, owner: str, said: FileFacts, ids: Mapping[str, UUID] | None
) -> dict[str, ExtractionJob]:
    """The memories that the file speaks of, by its own references. Missing ones are reported."""
    meant: dict[str, UUID] = {}
    for reference, line in said.lines.items():
        id = _id(reference) if ids is None else ids.get(reference)
        if id is None:
            said.errors.append(LineError(line, f"{reference[:60]!r} is not the id of a memory"))
        else:
            meant[reference] = id
    found: dict[UUID, ExtractionJob] = {}
    for batch in _batches(dict.fromkeys(meant.values()), 1_000):
        found |= {job.memory_id: job for job in await store.present(owner, batch)}
    for reference, id in meant.items():
        if id not in found:
            reason = f"there is no memory {reference[:60]}, or it is sensitive or forgotten"
            said.errors.append(LineError(said.lines[reference], reason))
    return {reference: found[id] for reference, id in meant.items() if id in found}


async def _join_aliases(store: GraphStore, owner: str, said: FileFacts) -> None:
    """Names that the file calls one are one, unless a hand has decided otherwise."""
    for first, other in dict.fromkeys(said.aliases):
        concepts = await store.named(owner, [first, other])
        if len(concepts) == 2 and concepts[first] != concepts[other]:
            await store.merge(owner, concepts[first], concepts[other], by_hand=False)


def _id(reference: str) -> UUID | None:
    try:
        return UUID(reference)
    except ValueError:
        return None


def _batches(ones: Iterable[One], size: int) -> Iterator[list[One]]:
    waiting = iter(ones)
    while batch := list(islice(waiting, size)):
        yield batch
