"""Import memories from files: an export, or files of other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from recollect.core.errors import InvalidInput
from recollect.core.imports.detect import STDIN, Format, Recognised, check_format
from recollect.core.imports.found import Exact, Found, ImportProblem, Item, to_memory
from recollect.core.memory.memory import Memory
from recollect.wiring.transfer import Transfer

# How many are stored together: one transaction here, one request to a server.
_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be read or stored: where it is, why, and what to do."""

    file: str
    place: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read, and the format it was read as."""

    file: str
    format: str
    confidence: str
    because: str


@dataclass(slots=True)
class Imported:
    """What was read, and the outcome. `same`: already stored; `kept`: stored in another version,
    which was not changed; `sensitive`: how many of the new ones are; `skipped`: files of a folder
    whose format is uncertain.
    """

    files: int = 0
    new: int = 0
    same: int = 0
    kept: int = 0
    sensitive: int = 0
    formats: list[ReadFile] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    warnings: list[Failure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


async def import_files(
    transfer: Transfer,
    paths: Sequence[Path],
    *,
    format: str | None = None,
    project: str | None = None,
    is_global: bool = False,
    dry_run: bool = False,
    progress: Callable[[str, int, int | None], None] = lambda _what, _done, _left: None,
) -> Imported:
    """Store the memories in the files, in batches. A stored batch survives a crash; importing the
    same files again adds only what is missing. Memories of other programs go into `project`, or
    with `is_global` into none, whatever the file says.
    """
    done = Imported()
    batch: list[tuple[str, str, Memory]] = []

    def set_project(found: Found) -> Found:
        return replace(found, project=project) if is_global or project is not None else found

    for file, place, memory in _memories(paths, check_format(format), set_project, transfer, done):
        batch.append((file, place, memory))
        if len(batch) == _BATCH:
            await _import_batch(transfer, batch, done, dry_run=dry_run)
            progress(Path(file).name, len(batch), None)
            batch = []
    if batch:
        await _import_batch(transfer, batch, done, dry_run=dry_run)
        progress(Path(batch[-1][0]).name, len(batch), None)
    return done


async def _import_batch(
    transfer: Transfer, batch: list[tuple[str, str, Memory]], done: Imported, *, dry_run: bool
) -> None:
    memories = [memory for _, _, memory in batch]
    if dry_run:
        results = await transfer.preview(memories)
    else:
        results = await transfer.import_memories(memories)
    counts = Counter(result.outcome for result in results)
    done.new += counts["new"]
    done.same += counts["same"]
    done.kept += counts["kept"]
    for (file, place, memory), result in zip(batch, results, strict=True):
        if result.outcome == "refused":
            done.failures.append(Failure(file, place, result.reason, result.remedy))
        elif result.outcome == "new" and memory.is_sensitive:
            done.sensitive += 1


def _memories(
    paths: Sequence[Path],
    format: Format | None,
    set_project: Callable[[Found], Found],
    transfer: Transfer,
    done: Imported,
) -> Iterator[tuple[str, str, Memory]]:
    settings = transfer.settings
    for file, item in _items(paths, format, transfer, done):
        if isinstance(item, ImportProblem):
            problems = done.warnings if item.is_warning else done.failures
            problems.append(Failure(file, item.place, item.reason, item.remedy))
        elif isinstance(item, Exact):
            yield file, item.place, item.memory
        else:
            at = _last_change(file, transfer.now)
            memory = to_memory(
                set_project(item), settings.owner, transfer.mark, at, settings.limits
            )
            yield file, item.place, memory


def _last_change(file: str, now: datetime) -> datetime:
    """Return the latest time at which undated content of a file can have been written."""
    if file == "stdin":
        return now
    return min(now, datetime.fromtimestamp(Path(file).stat().st_mtime, UTC))


def _items(
    paths: Sequence[Path], format: Format | None, transfer: Transfer, done: Imported
) -> Iterator[tuple[str, Item]]:
    for path in paths:
        for file, is_read in transfer.list_files(path, format):
            if not is_read:
                done.skipped.append(str(file))
                continue
            done.files += 1
            name = "stdin" if file == STDIN else str(file)
            try:
                for item in transfer.read_file(file, format):
                    if isinstance(item, Recognised):
                        read = ReadFile(name, item.format, item.confidence, item.because)
                        done.formats.append(read)
                    else:
                        yield name, item
            except InvalidInput as error:
                done.failures.append(Failure(name, "file", str(error), error.remedy))
