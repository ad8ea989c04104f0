"""`recollect bench`: measure quality and speed on your own machine."""

from __future__ import annotations

from recollect.shells.cli.framework.commands import Group
from recollect_bench.cli.confidence import confidence
from recollect_bench.cli.curation import curation
from recollect_bench.cli.data import convert_app, sets
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

app = Group(
    "Measure recall on temporary stores. Only `own` and `tune --own` read your memories.",
    {
        "run": run,
        "study": study,
        "speed": speed,
        "models": models,
        "scale": scale,
        "graph-speed": graph_speed,
        "sync": sync,
        "load": load,
        "hook": hook,
        "startup": startup,
        "floor": floor,
        "confidence": confidence,
        "curation": curation,
        "own": own,
        "tune": tune_settings,
        "sets": sets,
        "convert": convert_app,
    },
)
