"""`recollect bench`: measure quality and speed on your own machine."""

from __future__ import annotations

import typer

from recollect_bench.cli import data
from recollect_bench.cli.curation import curation
from recollect_bench.cli.floor import floor
from recollect_bench.cli.graph import graph_speed
from recollect_bench.cli.hook import hook
from recollect_bench.cli.load import load
from recollect_bench.cli.models import models
from recollect_bench.cli.own import own
from recollect_bench.cli.run import run
from recollect_bench.cli.scale import scale
from recollect_bench.cli.speed import speed
from recollect_bench.cli.startup import startup
from recollect_bench.cli.study import study
from recollect_bench.cli.sync import sync
from recollect_bench.cli.tune import tune_settings

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def bench() -> None:
    """Measure recall on temporary stores. Only `own` and `tune --own` read your memories."""


app.command()(run)
app.command()(study)
app.command()(speed)
app.command()(models)
app.command()(scale)
app.command("graph-speed")(graph_speed)
app.command()(sync)
app.command()(load)
app.command()(hook)
app.command()(startup)
app.command()(floor)
app.command()(curation)
app.command()(own)
app.command("tune")(tune_settings)
data.register(app)
