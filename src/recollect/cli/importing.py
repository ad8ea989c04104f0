"""The command that brings memories in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from recollect.cli.errors import ExitCode
from recollect.cli.options import AsJson, Project, project_meant
from recollect.cli.output import note, print_json, show
from recollect.cli.shell import note_write, run_async
from recollect.cli.text import one_line
from recollect.core.errors import InvalidInput
from recollect.core.memory import Memory
from recollect.core.text import counted

if TYPE_CHECKING:
    from recollect.adapters.foreign_files import Format
    from recollect.imports.found import Item
    from recollect.moving import Moving

_BATCH: Final = 200
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class _Failure:
    file: str
    place: str
    reason: str
    remedy: str


@dataclass(slots=True)
class _Import:
    """What was read and what became of it."""

    files: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[_Failure] = field(default_factory=list)


def import_memories(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files, or folders of Markdown.")
    ],
    *,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="recollect, mcp-memory, claude, mem0, chatgpt, chatgpt-memories or markdown; "
            "unsaid, the content tells.",
        ),
    ] = None,
    project: Project = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring memories in from files: an export, or what other programs wrote."""
    from recollect.adapters.foreign_files import FORMATS

    if format is not None and format not in FORMATS:
        raise InvalidInput(
            f"unknown format {format[:60]!r}",
            field="format",
            remedy=f"Choose one of: {', '.join(FORMATS)}.",
        )
    done = run_async(_import(files, format, project, dry_run=dry_run))
    if done.counts["new"] and not dry_run:
        note_write()
    _tell(done, as_json=as_json, dry_run=dry_run)
    if done.failures:
        raise typer.Exit(ExitCode.INVALID)


async def _import(
    paths: list[Path], format: Format | None, project: str | None, *, dry_run: bool
) -> _Import:
    from recollect.moving import open_moving
    from recollect.progress import counting_bar
    from recollect.settings import load

    done = _Import()
    async with open_moving(load()) as moving:
        project = await project_meant(moving.recollect, project)
        with counting_bar("importing") as tell:
            batch: list[tuple[str, str, Memory]] = []
            for file, place, memory in _memories(paths, format, project, moving, done):
                batch.append((file, place, memory))
                if len(batch) == _BATCH:
                    tell(Path(file).name, len(batch), None)
                    await _settle(moving, batch, done, dry_run=dry_run)
                    batch = []
            await _settle(moving, batch, done, dry_run=dry_run)
    return done


async def _settle(
    moving: Moving, batch: list[tuple[str, str, Memory]], done: _Import, *, dry_run: bool
) -> None:
    if not batch:
        return
    memories = [memory for _, _, memory in batch]
    if dry_run:
        outcomes = [await moving.look(memory) for memory in memories]
    else:
        outcomes = await moving.bring(memories)
    for (file, place, memory), one in zip(batch, outcomes, strict=True):
        done.counts[one.outcome] += 1
        if one.outcome == "refused":
            done.failures.append(_Failure(file, place, one.reason, one.remedy))
        elif one.outcome == "new" and memory.is_sensitive:
            done.counts["sensitive"] += 1


def _memories(
    paths: list[Path], format: Format | None, project: str | None, moving: Moving, done: _Import
) -> Iterator[tuple[str, str, Memory]]:
    from recollect.imports.found import Exact, Trouble, to_memory

    settings = moving.settings
    for file, item in _items(paths, format, moving, done):
        if isinstance(item, Trouble):
            done.failures.append(_Failure(file, item.place, item.reason, item.remedy))
        elif isinstance(item, Exact):
            yield file, item.place, item.memory
        else:
            found = item if project is None else replace(item, project=project)
            memory = to_memory(found, settings.owner, moving.mark, moving.now, settings.limits)
            yield file, item.place, memory


def _items(
    paths: list[Path], format: Format | None, moving: Moving, done: _Import
) -> Iterator[tuple[str, Item]]:
    from recollect.adapters.foreign_files import files_in, items_of

    settings = moving.settings
    for path in paths:
        for file in files_in(path):
            done.files += 1
            try:
                for item in items_of(file, format, settings.owner, settings.limits.content):
                    yield str(file), item
            except InvalidInput as error:
                done.failures.append(_Failure(str(file), "file", str(error), error.remedy))


def _tell(done: _Import, *, as_json: bool, dry_run: bool) -> None:
    counts = {name: done.counts[name] for name in ("new", "same", "kept", "sensitive")}
    if as_json:
        failures = [asdict(one) for one in done.failures]
        document = {"files": done.files, **counts, "failed": len(failures), "dry_run": dry_run}
        print_json({**document, "failures": failures})
        return
    for one in done.failures[:_SHOWN]:
        note(one_line(f"{one.file}, {one.place}: {one.reason}"))
        note(one_line(f"  → {one.remedy}"))
    if len(done.failures) > _SHOWN:
        note(f"and {len(done.failures) - _SHOWN} more; --json lists all of them")
    would = "would bring in" if dry_run else "brought in"
    lines = [f"{would} {counted(counts['new'], 'memory')} from {counted(done.files, 'file')}"]
    lines += [f"already here: {counts['same']}"] if counts["same"] else []
    if counts["kept"]:
        lines.append(f"here in another version, which stays: {counts['kept']}")
    if counts["sensitive"]:
        lines.append(f"sensitive among the new ones: {counts['sensitive']}")
    lines += [f"{len(done.failures)} could not be read or kept"] if done.failures else []
    show(*lines)
