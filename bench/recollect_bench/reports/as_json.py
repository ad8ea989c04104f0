"""A report as JSON: for programs, for later comparison, and for readable diffs.

Each row is on a line of its own, with its fields in a fixed order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from recollect_bench.scores.diagnostics import LegShare
from recollect_bench.scores.report import (
    Compared,
    Latency,
    LegFigures,
    Mean,
    MeanCompared,
    Moved,
    Report,
    Result,
)


def as_dict(report: Report) -> dict[str, Any]:
    return {
        "seed": report.seed,
        "against": report.against,
        "results": [asdict(row) for row in report.results],
        "means": [asdict(row) for row in report.means],
        "differences": [asdict(row) for row in report.differences],
        "mean_differences": [asdict(row) for row in report.mean_differences],
        "diagnostics": {
            "legs": [_leg(row) for row in report.legs],
            "changes": [asdict(row) for row in report.moved],
        },
        "latency": [asdict(row) for row in report.latency],
        "provenance": dict(report.provenance),
    }


def as_json(report: Report) -> str:
    return _text(as_dict(report), "") + "\n"


def from_json(text: str) -> Report:
    """Read a report that `as_json` wrote; sets, configurations and metrics keep their order."""
    document = json.loads(text)
    results = tuple(Result(**row) for row in document["results"])
    return Report(
        sets=tuple(dict.fromkeys(row.set for row in results)),
        configs=tuple(dict.fromkeys(row.config for row in results)),
        against=document["against"],
        seed=document["seed"],
        metrics=tuple(dict.fromkeys(row.metric for row in results)),
        results=results,
        differences=tuple(Compared(**row) for row in document["differences"]),
        means=tuple(Mean(**row) for row in document["means"]),
        mean_differences=tuple(MeanCompared(**row) for row in document["mean_differences"]),
        legs=tuple(_leg_figures(row) for row in document["diagnostics"]["legs"]),
        moved=tuple(Moved(**row) for row in document["diagnostics"]["changes"]),
        latency=tuple(Latency(**row) for row in document["latency"]),
        provenance=document["provenance"],
    )


def _leg_figures(row: Mapping[str, Any]) -> LegFigures:
    share = {key: value for key, value in row.items() if key not in ("set", "config", "queries")}
    return LegFigures(row["set"], row["config"], LegShare(**share, questions=row["queries"]))


def _leg(row: LegFigures) -> dict[str, Any]:
    share = asdict(row.share)
    share["queries"] = share.pop("questions")
    return {"set": row.set, "config": row.config, **share}


def _text(value: object, indent: str) -> str:
    inner = f"{indent}  "
    if isinstance(value, Mapping) and _holds_more(value.values()):
        lines = [f"{json.dumps(key)}: {_text(each, inner)}" for key, each in value.items()]
        return "{\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}}}"
    if isinstance(value, Sequence) and not isinstance(value, str) and _holds_more(value):
        lines = [_text(each, inner) for each in value]
        return "[\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _holds_more(values: Any) -> bool:  # noqa: ANN401  # any JSON value
    return any(isinstance(each, Mapping | list | tuple) for each in values)
