"""`docs/benchmark.md`: the studies' tables, plots and verdicts, as one page that nobody edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from recollect.bench.reports.as_json import as_json, from_json
from recollect.bench.reports.as_markdown import (
    EXPLAINED,
    difference_table,
    latency_table,
    provenance_table,
    quality_table,
)
from recollect.bench.reports.plots import (
    latency_plot,
    sets_plot,
    strata_plot,
    sweep_plot,
    tradeoff_plot,
)
from recollect.bench.scores.report import OVERALL, RULE, Report
from recollect.bench.studies.studies import Study
from recollect.core.errors import InvalidInput

PAGE: Final = "benchmark.md"
FOLDER: Final = "benchmark"

Studied = Sequence[tuple[Study, Report]]

_INTRODUCTION: Final = """\
# Benchmark

This page is written by `recollect bench study`; change `src/recollect/bench/studies/`, not this
page. Memories were stored through the use cases into real stores, embedded by the worker and
recalled by the recall use case: nothing here ranks but the product, and the outside BM25 that is
its yardstick.

```bash
make install EXTRAS=bench                          # in a clone
recollect bench run                                # a small synthetic set, out of the box
recollect bench run --data DIR --sets all --configs default,lexical,dense,rrf,convex --json FILE
recollect bench study --data DIR --out docs        # this page
```
"""

_RULE: Final = """\
Strata whose names begin with `rule:` are assigned by rule and mean the same on every set: in
*paraphrase* the question shares under a fifth of its rare words' weight with every memory that
answers it, in *multi-hop* several memories answer it, in *exact* it holds at least three fifths of
that weight, and *mixed* is the rest.
"""

_LIMITS: Final = """\
## Limits of the evidence

- The sets are public and in English; questions and labels are their authors'. A memory that would
  answer a question but is not labelled counts as a miss, for every configuration alike.
- Dialogue, encyclopaedia and abstracts are not an agent's notes. `recollect bench own` measures on
  your own memories.
- The constants of standing out (vote, weight, depth, the square) were chosen by looking at these
  sets, all but the LongMemEval sessions, and so was the rule of the strata, by the sizes it gave.
  Other fusions had as many tries here. Chosen on one half of the questions, each fusion kept its
  place on the other half; on sets that nobody has looked at the lead may still be smaller.
- An interval speaks of other questions of the same kind, not of other kinds of questions. Strata of
  few questions show large differences only; the smallest that they would show is given.
- p is corrected within a family: one metric in one kind of stratum, all configurations on all sets
  of one study. Across studies it is not.
- Times are of one machine that also did other work. Compare them with each other only.
"""


_LAST: Final = """\
Studies may have been measured at different times; each one's own versions, settings and hashes are
in its JSON. These are of all the data, and of the last study on this page:
"""


def write_figures(studied: Studied, out: Path) -> None:
    """For each study its figures and its plot."""
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for study, report in studied:
        (folder / f"{study.slug}.json").write_text(as_json(report), encoding="utf-8")
        _plot(study, report, folder / f"{study.slug}.png")


def write_study_page(studies: Sequence[Study], out: Path) -> int:
    """The page, of those studies whose figures are there; how many they are."""
    files = [(study, out / FOLDER / f"{study.slug}.json") for study in studies]
    studied = [
        (study, from_json(file.read_text(encoding="utf-8")))
        for study, file in files
        if file.is_file()
    ]
    if not studied:
        raise InvalidInput(
            f"there are no figures in {out / FOLDER}",
            field="--out",
            remedy="Measure some studies first: leave --page-only out.",
        )
    data: dict[str, Any] = {}
    for _, report in studied:
        data |= report.provenance["data"]
    origin = {**studied[-1][1].provenance, "data": dict(sorted(data.items()))}
    (out / PAGE).write_text(page(studied, origin), encoding="utf-8")
    return len(studied)


def page(studied: Studied, origin: Mapping[str, Any]) -> str:
    parts = [_INTRODUCTION, f"{EXPLAINED}\n", _RULE, *_renamed(studied)]
    parts += ["## The answers\n", _answers(studied)]
    for study, report in studied:
        parts += _section(study, report)
    parts += [_LIMITS, "## Where the figures come from\n", _LAST, f"{provenance_table(origin)}\n"]
    return "\n".join(parts)


def _renamed(studied: Studied) -> Iterator[str]:
    """What was measured before there was a graph is true of what is now called otherwise."""
    before = [
        study.title
        for study, report in studied
        if any(
            "graph" not in one["layout"] for one in report.provenance.get("configs", {}).values()
        )
    ]
    if before:
        yield (
            "These studies were measured before recall had a concept graph: "
            f"{'; '.join(before)}. In them `default` is what `base` is now, both legs without the "
            "graph, and other configurations that begin with `default` have none either. To repeat "
            "them, write `base` for `default`.\n"
        )
    alone = [study.title for study, report in studied if "turns_before" not in report.provenance]
    if alone:
        yield (
            "These were measured when a turn of a conversation was embedded alone: "
            f"{'; '.join(alone)}. Today's figures on sets of conversations are others. To repeat "
            "them, add `:embedded=alone` to the configurations.\n"
        )


def _answers(studied: Studied) -> str:
    lines = [
        f"- [{study.title}](#{_anchor(study.title)}): {_first_sentence(study.verdict)}"
        for study, _ in studied
    ]
    return "\n".join(lines) + "\n"


def _section(study: Study, report: Report) -> Iterator[str]:
    yield f"## {study.title}\n"
    yield f"{study.question}\n"
    yield f"**Verdict.** {study.verdict}\n"
    yield f"![{study.title}]({FOLDER}/{study.slug}.png)\n"
    for stratum in study.strata:
        if not any(row.stratum == stratum for row in report.results):
            continue
        for metric in study.metrics:
            yield f"{metric}{_of(stratum)}:\n"
            yield f"{quality_table(report, metric, stratum, configs=study.rows)}\n"
            if len(study.rows or report.configs) > 1:
                yield f"Against {report.against}:\n"
                yield f"{difference_table(report, metric, stratum, configs=study.rows)}\n"
    if study.is_timed and report.latency:
        yield f"{latency_table(report)}\n"
    yield (
        f"All figures: [{study.slug}.json]({FOLDER}/{study.slug}.json). To repeat them:\n\n"
        f"```bash\nrecollect bench run --data DIR --sets {','.join(study.sets) or 'all'} \\\n"
        f"    --configs '{study.configs}' \\\n    --against '{study.baseline}' --json FILE\n```\n"
    )
    if study.limits:
        yield "\n".join(f"- {limit}" for limit in study.limits) + "\n"


def _plot(study: Study, report: Report, file: Path) -> None:
    metric = study.metrics[0]
    match study.plot:
        case "sets":
            sets_plot(report, metric, file, study.rows)
        case "strata":
            strata_plot(report, metric, file, study.rows)
        case "sweep":
            sweep_plot(report, metric, file)
        case "latency":
            latency_plot(report, file, study.rows)
        case "tradeoff":
            tradeoff_plot(report, metric, file, study.rows)


def _of(stratum: str) -> str:
    if stratum == OVERALL:
        return ", all questions"
    by_rule = " by rule" if stratum.startswith(RULE) else ""
    return f", {stratum.removeprefix(RULE)} questions{by_rule}"


def _anchor(title: str) -> str:
    """As a forge makes it of a heading."""
    kept = "".join(each for each in title.lower() if each.isalnum() or each in "-_ ")
    return kept.replace(" ", "-")


def _first_sentence(text: str) -> str:
    first, end, _ = text.partition(". ")
    return f"{first}." if end else first
