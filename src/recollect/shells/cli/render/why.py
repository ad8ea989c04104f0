"""Why a memory is or is not recalled, and who changed the settings, as tables for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recollect.core.memory.ids import short
from recollect.core.recall.explain import WhyLeg, WhyReport
from recollect.core.recall.settings import RecallSettings, SettingChange
from recollect.shells.cli.framework.output import (
    escape_controls,
    local_time,
    localize_times,
    one_line,
    setting_value,
)
from recollect.shells.cli.render.tables import amount, facts, format_matched_words, plain_table


def why(report: WhyReport) -> RenderableType:
    memory = f"{short(report.memory.id)}  {escape_controls(report.memory.content)}"
    rows = {"memory": memory, "recalled": _verdict(report), "score": _score(report)}
    rows["second stage"] = _second_stage(report)
    rows["order"] = one_line(report.moved or "")
    obstacles = [
        Text(f"\n- {one_line(localize_times(obstacle.what))}\n  → {one_line(obstacle.remedy)}")
        for obstacle in report.kept_out
    ]
    return Group(facts(rows), Text(""), _legs(report), *obstacles)


def settings_log(changes: Iterable[SettingChange]) -> Table:
    """Build the table of changed settings, in the format of `settings set`."""
    table = plain_table("when", "by", "setting", "change")
    defaults = RecallSettings().as_dict()
    for entry in changes:
        old = defaults.get(entry.name) if entry.old is None else entry.old
        change = f"{setting_value(old)} → {setting_value(entry.new)}"
        table.add_row(
            local_time(entry.at), Text(one_line(entry.by)), Text(one_line(entry.name)), Text(change)
        )
    return table


def _verdict(report: WhyReport) -> str:
    if report.recalled:
        others = ", ".join(map(short, report.stands_for))
        standing = f", standing for {others}" if others else ""
        return f"yes, at place {report.place} of at most {report.limit}{standing}"
    if report.superseded_by is not None:
        return f"no, it was replaced by {short(report.superseded_by)}"
    if report.place is None:
        return "no"
    if report.place > report.limit:
        return f"no; its place is or would be {report.place}, beyond the limit of {report.limit}"
    return f"no; otherwise, its place would be {report.place}"


def _score(report: WhyReport) -> str:
    if report.score is None or report.fused is None:
        return ""
    fused, score = amount(report.fused), amount(report.score)
    return f"fused {fused} × prior {report.prior:.3f} = {score}"


def _second_stage(report: WhyReport) -> str:
    stage, judged = report.second_stage, report.rerank
    if stage is None:
        return ""
    if stage.status != "ran":
        return f"{stage.status}: {stage.note}" if stage.note else stage.status
    if judged is None:
        return "did not judge it"
    words = format_matched_words(judged, report.memory.content)
    matched = f"; matched {words}" if words else ""
    return f"scored it {judged.score:.3g}; previously at place {judged.former_place}{matched}"


def _legs(report: WhyReport) -> Table:
    table = plain_table("leg", "weight", "rank", "score", "adds", "")
    for name, leg in report.legs.items():
        facts = leg.facts
        table.add_row(
            name,
            f"{facts.weight:g}",
            "" if facts.rank is None else f"{facts.rank:,}",
            "" if facts.score is None else f"{facts.score:.3g}",
            "" if leg.contribution is None else amount(leg.contribution),
            Text(_remark(leg)),
        )
    return table


def _remark(leg: WhyLeg) -> str:
    if leg.obstacle is not None:
        return leg.obstacle.kind.replace("_", " ")
    return "" if leg.facts.status == "ran" else leg.facts.status
