"""A report as JSON: for programs, for later comparison, and for a diff that a person can read.

Each row stands on a line of its own, with its fields in a fixed order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from recollect.bench.report import LegFigures, Report


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


def _holds_more(values: Any) -> bool:  # noqa: ANN401  # whatever json can write
    return any(isinstance(each, Mapping | list | tuple) for each in values)
