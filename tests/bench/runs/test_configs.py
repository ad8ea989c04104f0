"""Configurations as they are written on the command line."""

from __future__ import annotations

import pytest

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect_bench.runs.configs import (
    NAMED,
    Layout,
    current_config,
    parse_configs,
    with_current,
)


def test_every_named_configuration_has_settings_that_exist() -> None:
    for name in NAMED:
        (config,) = parse_configs(name)
        assert config.name == name
        RecallSettings().changed(config.settings)


def test_a_name_may_be_followed_by_settings() -> None:
    (config,) = parse_configs("rrf:rrf_k=10:depth=100")
    assert config.name == "rrf:rrf_k=10:depth=100"
    settings = RecallSettings().changed(config.settings)
    assert (settings.fusion, settings.rrf_k, settings.depth) == ("rrf", 10, 100)
    assert config.layout == Layout()


def test_several_values_are_a_sweep_and_several_sweeps_a_grid() -> None:
    names = [config.name for config in parse_configs("lexical,convex:dense_weight=1|2:depth=20|50")]
    assert names == [
        "lexical",
        "convex:dense_weight=1:depth=20",
        "convex:dense_weight=1:depth=50",
        "convex:dense_weight=2:depth=20",
        "convex:dense_weight=2:depth=50",
    ]


def test_layout_is_a_parameter_of_a_configuration() -> None:
    (config,) = parse_configs("default:embedded=first:importance=signal:embedder=mpnet")
    assert config.layout == Layout(embedded="first", importance="signal", embedder="mpnet")
    assert config.settings == {}


def test_a_second_stage_is_added() -> None:
    (config,) = parse_configs("default+rerank:rerank_depth=20")
    assert config.settings == {"second_stage": "cross-encoder", "rerank_depth": 20}


def test_a_configuration_that_is_named_twice_is_run_once() -> None:
    assert [config.name for config in parse_configs("dense, lexical,dense")] == ["dense", "lexical"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("best", "no configuration named 'best'"),
        ("default+magic", "no configuration named"),
        ("default:rrf_k", "is not a parameter"),
        ("default:rrf_k=", "is not a parameter"),
        ("default:rrf_k=1||2", "is not a parameter"),
        ("default:speed=1", "no setting named 'speed'"),
        ("default:rrf_k=many", "rrf_k cannot be 'many'"),
        ("default:engine=oracle", "engine cannot be 'oracle'"),
        ("default:embedded=nothing", "embedded cannot be 'nothing'"),
    ],
)
def test_parse_configs_reports_what_is_invalid(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_configs(text)


def test_the_current_configuration_is_the_users_own() -> None:
    usual = RecallSettings()
    tuned = usual.changed({"dense_weight": 0.5})
    compared = parse_configs("default,lexical")
    assert with_current(compared, current_config(usual, is_local=False)) == (compared, "default")
    configs, name = with_current(compared, current_config(tuned, is_local=False))
    assert (name, configs[0].settings) == ("current", {"dense_weight": 0.5})
    configs, name = with_current(compared, current_config(tuned, is_local=True, has_model=False))
    assert (name, configs[0].layout.engine, configs[0].settings["dense_weight"]) == (
        "current",
        "sqlite",
        0.0,
    )
