"""`recollect bench curation`: what the curator proposes, and what accepting it does to recall."""

from __future__ import annotations

import asyncio
import csv
import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

from rich.table import Table

from recollect.ports.curation import AskedModel
from recollect.settings import load
from recollect.shells.cli.framework.commands import Option
from recollect.usecases.curation.propose import ProposedPair
from recollect.wiring.context import build_curation_model
from recollect_bench.cli.data import Data
from recollect_bench.cli.measuring import ALL, check_writable, report_console, select_sets
from recollect_bench.cli.sync import progress_bar
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.runs.configs import Layout
from recollect_bench.runs.stage import Progress, staged
from recollect_bench.scores.significance import Interval
from recollect_bench.studies.curation import CurationReport, curate

_COLUMNS: Final = (
    "set",
    "decided_by",
    "kind",
    "confidence",
    "reason",
    "newer",
    "older",
    "is_right",
)


def curation(
    *,
    data: Data = None,
    sets: Annotated[
        str, Option("--sets", help="Sets to use: names separated by commas, or all.")
    ] = ALL,
    sample: Annotated[
        Path | None,
        Option(
            "--sample", help="Write a random sample of the proposals to FILE (TSV) for labelling."
        ),
    ] = None,
    sample_size: Annotated[
        int, Option("--sample-size", min=1, help="With --sample: how many proposals of each set.")
    ] = 50,
    seed: Annotated[int, Option("--seed", min=0, help="Random seed for sample and intervals.")] = 1,
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the report to FILE as JSON.")
    ] = None,
) -> None:
    """Show which pairs of memories the curator proposes, and recall before and after.

    By rules alone and, where RECOLLECT_LLM_URL or RECOLLECT_LLM_COMMAND names a language
    model, also with that model.
    """
    check_writable([file for file in (sample, json_file) if file is not None])
    chosen = select_sets(data, sets)
    asked = build_curation_model(load())
    models = [None] if asked is None else [None, asked]
    with progress_bar() as progress:
        measured = [
            asyncio.run(_measure(each, seed, progress, model))
            for each in chosen
            for model in models
        ]
    reports = [report for report, _ in measured]
    console = report_console()
    for table in build_tables(reports):
        console.print(table, end="\n\n")
    if sample is not None:
        chance = random.Random(seed)
        rows = [
            (report.name, proposal)
            for report, proposals in measured
            for proposal in chance.sample(proposals, min(sample_size, len(proposals)))
        ]
        _write_sample(sample, rows)
    if json_file is not None:
        json_file.write_text(json.dumps([asdict(report) for report in reports], indent=2) + "\n")


async def _measure(
    data: EvaluationSet, seed: int, progress: Progress, model: AskedModel | None
) -> tuple[CurationReport, list[ProposedPair]]:
    """Measure on a local store, by words."""
    with TemporaryDirectory(prefix="recollect-bench-") as folder:
        local = Layout(engine="sqlite")
        async with staged(data, local, None, Path(folder), progress) as stage:
            return await curate(stage, seed, progress, model)


def build_tables(reports: Sequence[CurationReport]) -> list[Table]:
    """Build the tables of proposals, and of recall before and after; both fit 80 columns."""
    proposed = _table(
        "set", "decided by", "memories", "asked", "updates", "duplicates", "per 1,000"
    )
    recall = _table("set", "decided by", "recall", "before", "after")
    for report in reports:
        named = report.name, report.decided_by
        proposed.add_row(
            *named,
            f"{report.memories:,}",
            f"{report.asked:,}" if report.asked else "-",
            _share(report.pairs_proposed, report.pairs),
            _share(report.duplicates_proposed, report.duplicates),
            f"{report.per_thousand:g}",
        )
        first = report.newer_first_before, report.newer_first_after
        if first[0] is not None:
            recall.add_row(*named, f"newer first, n={first[0].count}", *map(_percent, first))
        quality = report.quality_before, report.quality_after
        recall.add_row(*named, "R@10", *(f"{each.recall_at_10:.3f}" for each in quality))
        recall.add_row(*named, "nDCG@10", *(f"{each.ndcg_at_10:.3f}" for each in quality))
    return [proposed, recall]


def _table(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else "-"


def _percent(found: Interval | None) -> str:
    if found is None:
        return "-"
    value, low, high = (round(100 * share) for share in (found.value, found.low, found.high))
    return f"{value}% ({low} to {high})"


def _write_sample(file: Path, rows: Sequence[tuple[str, ProposedPair]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(_COLUMNS)
        for name, proposal in rows:
            decision = proposal.decision
            quotes = decision.newer_quote, decision.older_quote
            writer.writerow(
                (
                    name,
                    proposal.decided_by,
                    decision.kind,
                    decision.confidence,
                    decision.reason,
                    *quotes,
                    "",
                )
            )
