"""The command that imports memories."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from recollect.core.imports.detect import FORMATS
from recollect.core.memory.project import project_to_store_in
from recollect.core.text.analysis import counted
from recollect.shells.cli.framework.commands import Argument, Option
from recollect.shells.cli.framework.exit import Exit, ExitCode
from recollect.shells.cli.framework.options import AsJson, check_project, resolve_project
from recollect.shells.cli.framework.output import note, one_line, print_json, show
from recollect.shells.cli.framework.shell import note_write, run_async

if TYPE_CHECKING:
    from recollect.shells.transfer.importing import Failure, Imported

_MAX_SHOWN: Final = 20
# Memories of one file: this many paragraphs are a document more often than notes.
_DOCUMENT_PARAGRAPHS: Final = 50


def import_memories(
    files: Annotated[
        list[Path],
        Argument(metavar="FILE...", help="Files or folders to import; - reads stdin."),
    ],
    *,
    format: Annotated[
        str | None,
        Option(
            "--format",
            help="Format of the files: "
            + ", ".join(FORMATS)
            + ". Detected from the content if omitted.",
        ),
    ] = None,
    project: Annotated[
        str | None, Option("--project", help="Project to store the memories in.")
    ] = None,
    is_global: Annotated[
        bool, Option("--global", help="Store them in no project, whatever the files say.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be imported, and change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import memories from files: an export, or files of other programs."""
    from recollect.core.imports.detect import check_format

    check_format(format)
    named = check_project(project, has_global=True)
    project = project_to_store_in(named, None, is_global=is_global)
    done = run_async(_import(files, format, project, is_global=is_global, dry_run=dry_run))
    if done.new and not dry_run:
        note_write()
    _report(done, as_json=as_json, dry_run=dry_run)
    if done.failures:
        raise Exit(ExitCode.INVALID)


async def _import(
    paths: list[Path],
    format: str | None,
    project: str | None,
    *,
    is_global: bool,
    dry_run: bool,
) -> Imported:
    from recollect.settings import load
    from recollect.shells.progress import counting_bar
    from recollect.shells.transfer.importing import import_files
    from recollect.wiring.transfer import open_transfer

    async with open_transfer(load()) as transfer:
        project = await resolve_project(transfer.service, project)
        with counting_bar("importing") as report:
            return await import_files(
                transfer,
                paths,
                format=format,
                project=project,
                is_global=is_global,
                dry_run=dry_run,
                progress=report,
            )


def _describe_formats(done: Imported) -> list[str]:
    """Describe what each file was read as, and what to do if that was a guess."""
    counts = Counter((detected.format, detected.confidence) for detected in done.formats)
    lines: list[str] = []
    for (format, confidence), files in counts.items():
        of_these = [
            detected
            for detected in done.formats
            if (detected.format, detected.confidence) == (format, confidence)
        ]
        which = Path(of_these[0].file).name if files == 1 else f"{files} files"
        sure = "" if confidence == "named" else f" ({confidence}: {of_these[0].because})"
        lines.append(one_line(f"{which}: read as {format}{sure}"))
    if any(detected.confidence == "guess" for detected in done.formats):
        lines.append("  → If that is wrong, pass --format; --dry-run changes nothing.")
    if _is_cut_small(done):
        lines.append(
            "  → To keep a long text together, found by its passages, pass --format document."
        )
    return lines


def _is_cut_small(done: Imported) -> bool:
    """Return whether texts became many memories each without the user having asked for that."""
    is_text = any(
        detected.format in ("markdown", "lines") and detected.confidence != "named"
        for detected in done.formats
    )
    return is_text and done.new + done.same + done.kept >= _DOCUMENT_PARAGRAPHS * len(done.formats)


def _describe_failure(failure: Failure) -> str:
    where = failure.file if failure.place == "file" else f"{failure.file}, {failure.place}"
    return one_line(f"{where}: {failure.reason}")


def _report(done: Imported, *, as_json: bool, dry_run: bool) -> None:
    counts = {name: getattr(done, name) for name in ("new", "same", "kept", "sensitive")}
    if as_json:
        failures = [asdict(failure) for failure in done.failures]
        document = {"files": done.files, **counts, "failed": len(failures), "dry_run": dry_run}
        formats = [asdict(detected) for detected in done.formats]
        warnings = [asdict(warning) for warning in done.warnings]
        lists = {"formats": formats, "failures": failures, "warnings": warnings}
        print_json({**document, **lists, "skipped": done.skipped})
        return
    for line in _describe_formats(done):
        note(line)
    if done.skipped:
        names = ", ".join(Path(file).name for file in done.skipped[:_MAX_SHOWN])
        note(one_line(f"skipped {counted(len(done.skipped), 'file')}: {names}"))
        note("  → Name a file, or pass --format, to import it.")
    for warning in done.warnings[:_MAX_SHOWN]:
        note(_describe_failure(warning))
    for failure in done.failures[:_MAX_SHOWN]:
        note(_describe_failure(failure))
        note(one_line(f"  → {failure.remedy}"))
    if len(done.failures) > _MAX_SHOWN:
        note(f"and {len(done.failures) - _MAX_SHOWN} more; --json lists them all")
    would = "would import" if dry_run else "imported"
    lines = [f"{would} {counted(counts['new'], 'memory')} from {counted(done.files, 'file')}"]
    lines += [f"already here: {counts['same']}"] if counts["same"] else []
    if counts["kept"]:
        lines.append(f"already here in another version, kept: {counts['kept']}")
    if counts["sensitive"]:
        lines.append(f"sensitive among the new ones: {counts['sensitive']}")
    lines += [f"{len(done.failures)} could not be read or stored"] if done.failures else []
    show(*lines)
