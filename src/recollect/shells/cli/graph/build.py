"""Fill the concept graph of a store: the backfill, and files of ready-made facts."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from recollect.core.errors import InvalidInput, ModelUnavailable
from recollect.core.graph.extraction import BY_MODEL
from recollect.shells.cli.framework.output import note
from recollect.shells.progress import counting_bar
from recollect.usecases.graph.extract import Compared, Extracted
from recollect.usecases.graph.import_facts import Imported, import_facts
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.steps import GraphStep
from recollect.usecases.workers.worker import Worker
from recollect.wiring.local import Local
from recollect.wiring.server import Server

_MODEL_HUNDREDS = 999


async def build(server: Server | Local, *, again: bool, retry: bool) -> dict[str, float]:
    """Extract from all queued memories. Can be interrupted and resumed at any time."""
    parts = server.graph
    if parts.mode == "off":
        raise InvalidInput(
            "RECOLLECT_GRAPH=off disables reading memories for the graph",
            field="RECOLLECT_GRAPH",
            remedy="Set RECOLLECT_GRAPH to rules or llm, or unset it to use the default.",
        )
    if again:
        await parts.store.read_again(BY_MODEL + _MODEL_HUNDREDS)
    elif retry:
        await parts.store.retry_parked()
    counts: dict[str, float] = dict.fromkeys(("read", "failed", "names", "merged"), 0)
    waiting = (await parts.progress()).waiting
    began = last = time.monotonic()
    comparing = 0.0
    with counting_bar("reading") as bar:
        bar("reading", 0, waiting)

        def report(news: Extracted | Compared | BackoffEvent) -> None:
            nonlocal last, comparing
            before, last = last, time.monotonic()
            if isinstance(news, Extracted):
                counts["read"] += news.kept
                counts["failed"] += len(news.failed)
                bar("reading", news.kept + len(news.failed), None)
            elif isinstance(news, Compared):
                counts["names"] += news.names
                counts["merged"] += news.merged
                comparing += last - before
                bar("comparing names", news.names, None)
            else:
                note(f"{news.error}; retrying in {news.seconds:.0f} s")

        try:
            await Worker(GraphStep(parts, report)).work_off()
        except ModelUnavailable as error:
            note(f"{error} {error.remedy} Waiting memories stay in the queue.")
    counts["failing"] = (await parts.progress()).failing
    seconds = round(time.monotonic() - began, 1)
    return {**counts, "seconds": seconds, "comparing_seconds": round(comparing, 1)}


async def import_into(
    server: Server | Local,
    owner: str,
    lines: list[str],
    ids: Mapping[str, UUID] | None,
    *,
    dry_run: bool,
) -> Imported:
    with counting_bar("importing") as bar:
        reported = 0

        def progress(done: int, of: int) -> None:
            nonlocal reported
            bar("importing", done - reported, of if reported == 0 else None)
            reported = done

        return await import_facts(
            server.graph.store, owner, lines, ids=ids, dry_run=dry_run, progress=progress
        )


def read_lines(file: Path) -> list[str]:
    """Read the lines of a UTF-8 file, or of stdin."""
    if str(file) != "-" and file.exists() and not file.is_file():
        raise InvalidInput(
            f"{file} is not a regular file",
            field="FILE",
            remedy="Name a file of JSON Lines, or send them to stdin and name `-`.",
        )
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return data.decode("utf-8").split("\n")
    except OSError as error:
        raise InvalidInput(
            f"{file} could not be read: {error.strerror}",
            field="FILE",
            remedy="Name a file of JSON Lines; docs/graph.md describes the format.",
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{file} is not valid UTF-8: byte {error.start} is invalid",
            field="FILE",
            remedy="Convert it first, for example with `iconv -f ISO-8859-1 -t UTF-8`.",
        ) from error


def read_ids(file: Path) -> dict[str, UUID]:
    """Read which memory each name in the file refers to."""
    ids: dict[str, UUID] = {}
    for number, line in enumerate(read_lines(file), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            ids[str(entry["doc"])] = UUID(entry["memory"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"line {number} of {file} does not map a name to a memory",
                field="--ids",
                remedy='Write each line as {"doc": "NAME", "memory": "ID"}.',
            ) from error
    return ids
