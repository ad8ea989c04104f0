"""The hook benchmarks measure what they claim."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import run_command
from tests.processes import environment

from recollect.settings import load
from recollect.wiring.local import open_service
from recollect_bench.cli.app import app
from recollect_bench.speed.corpus import Corpus
from recollect_bench.speed.hook import (
    Call,
    as_document,
    embed_all,
    fill,
    session,
    stalling_server,
    summarize,
    time_calls,
)
from recollect_bench.studies.floor import Asked, FloorRow, table

pytestmark = pytest.mark.anyio


def quiet(_what: str, _done: int, _total: int) -> None: ...


async def test_whole_calls_are_timed_and_judged(tmp_path: Path) -> None:
    async with open_service(load(home=tmp_path)) as recollect:
        questions = await fill(recollect, Corpus.seeded(1), 20, quiet)
    settings = {"RECOLLECT_HOME": str(tmp_path), "RECOLLECT_HOOK_BUDGET_MS": "60000"}
    calls = time_calls("warm", 3, environment(**settings), questions, quiet)
    result = summarize("warm", calls, 60_000)
    assert (result.calls, result.answered, result.nonzero_exits, result.over_budget) == (3, 3, 0, 0)
    assert 0 < result.p50_ms <= result.p95_ms <= result.max_ms
    with stalling_server() as url:
        stalled = {**settings, "RECOLLECT_API_URL": url, "RECOLLECT_API_KEY": "rk_x"}
        stalled["RECOLLECT_HOOK_BUDGET_MS"] = "1000"
        (call,) = time_calls("stalled", 1, environment(**stalled), questions, quiet)
    assert call.exit_code == 0


async def test_calls_during_a_session_are_answered_by_meaning(home_with_model: Path) -> None:
    settings = load(home=home_with_model, worker="inside")
    async with open_service(settings) as recollect:
        questions = await fill(recollect, Corpus.seeded(1), 20, quiet)
    await embed_all(settings)
    variables = environment(
        RECOLLECT_HOME=str(home_with_model),
        RECOLLECT_HOOK_BUDGET_MS="60000",
        RECOLLECT_TIMEOUT_FACTOR="60",
    )
    with session(variables):
        calls = time_calls("resident", 3, variables, questions, quiet)
    result = summarize("resident", calls, 60_000)
    assert (result.answered, result.by_session, result.nonzero_exits) == (3, 3, 0)


@pytest.mark.slow
def test_every_state_is_measured(
    home_with_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_HOME", str(home_with_model))
    monkeypatch.setenv("RECOLLECT_HOOK_BUDGET_MS", "10000")
    report = tmp_path / "report.json"
    arguments = ["hook", "--calls", "1", "--rows", "20", "--json", str(report)]
    result = run_command(arguments, app)
    assert result.exit_code == 0, result.output
    states = {each["state"]: each for each in json.loads(report.read_text())["results"]}
    assert list(states) == ["cold", "warm", "resident", "server", "stopped", "stalled"]
    assert states["resident"]["by_session"] == 1


def test_the_report_has_the_shape_that_is_documented() -> None:
    calls = [Call(float(ms), 0, answered=ms < 300) for ms in range(100, 401)] + [Call(1.0, 2, True)]
    result = summarize("cold", calls, 300)
    assert (result.nonzero_exits, result.over_budget, result.answered) == (1, 100, 201)
    assert result.p50_ms == pytest.approx(249.5, abs=1)
    document = as_document([result], 300, 10)
    (row,) = json.loads(json.dumps(document))["results"]
    fields = {"state", "calls", "p50_ms", "p95_ms", "nonzero_exits", "over_budget"}
    assert fields <= row.keys()
    assert summarize("one", [Call(5.0, 0, answered=True)], 300).p95_ms == 5.0


def test_a_floor_is_judged_by_whom_it_helps_and_whom_it_disturbs() -> None:
    asked = [
        Asked("s", "answerable", "exact", (5.0, 2.0, 1.0), (5.0, 2.0)),
        Asked("s", "answerable", "exact", (2.0,), (2.0,)),
        Asked("s", "answerable", "long", (9.0,), ()),  # what passes is no answer
        Asked("s", "answerable", "long", (9.0, 1.0), (1.0,), is_first=True),
        Asked("s", "answerable", "exact", (2.0,), (2.0,), is_first=True),  # nothing is clear
        Asked("s", "unanswerable", "none", (3.0,), ()),
        Asked("s", "strange", "", (4.0, 1.0), ()),
        Asked("s", "strange", "", (), ()),
        Asked("s", "everyday", "", (1.0,), ()),
    ]
    assert table(asked, [3.0]) == [
        FloorRow(
            3.0,
            helped=40.0,
            own=100.0,
            strange=50.0,
            everyday=0.0,
            strata={"exact": 33.3, "long": 50.0},
        )
    ]


@pytest.mark.parametrize("options", [(), ("--stores-of", "10", "--stores", "2")])
def test_floors_are_measured_on_any_set(tmp_path: Path, options: tuple[str, ...]) -> None:
    file, picture = tmp_path / "floor.json", tmp_path / "floor.png"
    done = run_command(
        ["floor", "--no-dense", "--json", str(file), "--plot", str(picture), *options],
        app,
        env={"RECOLLECT_HOME": str(tmp_path), "RECOLLECT_BENCH_DATA": ""},
    )
    assert done.exit_code == 0, done.output
    (rows,) = json.loads(file.read_text())["by words"].values()
    helped = [row["helped"] for row in rows]
    assert helped == sorted(helped, reverse=True)
    assert [row["everyday"] for row in rows][-1] == 0.0
    assert picture.read_bytes().startswith(b"\x89PNG")
