"""`recollect bench convert` and `recollect bench sets`: the evaluation data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from rich.table import Column, Table

from recollect.core.memory.memory import MAX_CONTENT_LIMIT
from recollect.shells.cli.framework.commands import Argument, Group, Option
from recollect.shells.cli.framework.output import print_text
from recollect.shells.progress import step_bar
from recollect_bench.cli.measuring import report_console
from recollect_bench.data.convert import Converted, check_target, write_set
from recollect_bench.data.datasets import EvaluationSet, find_sets, read_set
from recollect_bench.data.locomo import locomo
from recollect_bench.data.longmemeval import Unit, knowledge_updates, longmemeval
from recollect_bench.data.positions import place_facts
from recollect_bench.data.strata import RULE_STRATA, rule_strata
from recollect_bench.data.synthetic import synthetic_set

convert_app = Group("Convert a published data set to a directory that bench can read.")

File = Annotated[Path, Argument(metavar="FILE", help="The JSON file as published by its authors.")]
Out = Annotated[Path, Argument(metavar="OUT", help="The directory to create for the set.")]
Force = Annotated[bool, Option("--force", help="Replace an existing set in OUT.")]
Data = Annotated[
    Path | None,
    Option(
        "--data",
        variable="RECOLLECT_BENCH_DATA",
        help="Directory with the evaluation sets. Default: a built-in synthetic set.",
    ),
]


@convert_app.command("locomo")
def convert_locomo(file: File, out: Out, *, force: Force = False) -> None:
    """Convert LoCoMo (locomo10.json): one memory per turn of a conversation."""
    _convert(lambda: locomo(file), out, force=force)


@convert_app.command("longmemeval")
def convert_longmemeval(
    file: File,
    out: Out,
    *,
    unit: Annotated[
        Unit, Option("--unit", help="Store each session or each turn as one memory.")
    ] = "session",
    force: Force = False,
) -> None:
    """Convert LongMemEval (longmemeval_oracle.json): one memory per session or turn."""
    _convert(lambda: longmemeval(file, unit), out, force=force)


@convert_app.command("longmemeval-updates")
def convert_updates(file: File, out: Out, *, force: Force = False) -> None:
    """Convert the knowledge updates of LongMemEval to a set for `bench curation`."""
    _convert(lambda: knowledge_updates(file), out, force=force)


@convert_app.command("positions")
def convert_positions(
    set: Annotated[
        Path, Argument(metavar="SET", help="The directory of a converted set of short texts.")
    ],
    out: Out,
    *,
    questions: Annotated[
        int, Option("--questions", min=1, help="Maximum number of questions.")
    ] = 150,
    length: Annotated[
        int, Option("--length", min=1_000, max=MAX_CONTENT_LIMIT, help="Characters per text.")
    ] = 7_000,
    seed: Annotated[int, Option("--seed", min=0, help="Random seed.")] = 1,
    force: Force = False,
) -> None:
    """Make long texts with a fact at the start, in the middle or at the end."""
    _convert(lambda: place_facts(read_set(set), questions, length, seed), out, force=force)


def sets(data: Data = None) -> None:
    """Show the size of each evaluation set and its questions per stratum."""
    # Without borders and with long names folded, every number fits into 80 columns.
    name = Column("set", overflow="fold")
    heads = [name, *map(_number, ("memories", "questions", "labels", *RULE_STRATA))]
    table = Table(*heads, box=None, padding=(0, 1, 0, 0))
    with step_bar() as step:
        if data is None:
            table.add_row(*_row(synthetic_set()))
        else:
            folders = find_sets(data, None)
            for number, folder in enumerate(folders):
                step(f"reading {folder.name}", number / len(folders))
                table.add_row(*_row(read_set(folder)))
    report_console().print(table)


def _convert(read: Callable[[], Converted], out: Path, *, force: bool) -> None:
    check_target(out, force=force)
    with step_bar() as step:
        step("reading", 0.0)
        converted = read()
        step("writing", 0.8)
        write_set(converted, out, force=force)
    print_text(
        f"{out}: {len(converted.documents):,} memories, {len(converted.asked):,} questions, "
        f"{converted.labels:,} labels; skipped {converted.left_out:,} questions without labels"
    )


def _number(heading: str) -> Column:
    return Column(heading, justify="right", no_wrap=True)


def _row(evaluation_set: EvaluationSet) -> list[str]:
    by_rule = Counter(rule_strata(evaluation_set).values())
    numbers = (
        len(evaluation_set.documents),
        len(evaluation_set.questions),
        sum(map(len, evaluation_set.gold.values())),
        *(by_rule[stratum] for stratum in RULE_STRATA),
    )
    return [evaluation_set.name, *(f"{number:,}" for number in numbers)]
