"""Run-time settings: ranges, texts from a command line, and rows of another version."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import any_text

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import LEGAL, RecallSettings


def test_every_setting_has_its_legal_values_and_a_legal_default() -> None:
    assert {field.name for field in fields(RecallSettings)} == set(LEGAL)
    defaults = RecallSettings()
    assert defaults.changed(defaults.as_dict()) == defaults


def test_defaults_are_those_the_benchmark_chose() -> None:
    defaults = RecallSettings()
    assert defaults.weights() == {"lexical": 1.0, "dense": 0.65, "graph": 1.5}
    assert (defaults.fusion, defaults.vote, defaults.rrf_k) == ("standout", 6.0, 60)
    assert defaults.depth == 100
    assert (defaults.min_relevance, defaults.second_stage) == (0.1, "late")
    assert 20 <= defaults.rerank_depth <= 30


def test_each_fusion_goes_with_its_constant() -> None:
    settings = RecallSettings(vote=3.0, rrf_k=10)
    assert settings.changed({"fusion": "standout"}).constant == 3.0
    assert settings.changed({"fusion": "rrf"}).constant == 10


ACCEPTED: list[tuple[str, object, object]] = [
    ("lexical_weight", 0, 0.0),
    ("dense_weight", 5, 5.0),
    ("graph_weight", "0.35", 0.35),
    ("fusion", "convex", "convex"),
    ("fusion", "rrf", "rrf"),
    ("vote", 0, 0.0),
    ("vote", "100", 100.0),
    ("rrf_k", "10", 10),
    ("rrf_k", 10.0, 10),
    ("depth", 1_000, 1_000),
    ("deadline_ms", 10, 10),
    ("prior_strength", 1, 1.0),
    ("second_stage", "off", "off"),
    ("second_stage", "cross-encoder", "cross-encoder"),
    ("rerank_depth", "30", 30),
    ("rerank_timeout_ms", 10, 10),
]


@pytest.mark.parametrize(("name", "given_value", "kept"), ACCEPTED)
def test_settings_keep_a_legal_value(name: str, given_value: object, kept: object) -> None:
    changed = RecallSettings().changed({name: given_value}).as_dict()
    assert changed == {**RecallSettings().as_dict(), name: kept}
    assert type(changed[name]) is type(RecallSettings().as_dict()[name])


REFUSED: list[tuple[str, object, str]] = [
    ("lexical_weight", -0.1, "Give a number from 0 to 5."),
    ("lexical_weight", 5.1, "Give a number from 0 to 5."),
    ("lexical_weight", float("nan"), "Give a number from 0 to 5."),
    ("lexical_weight", "heavy", "Give a number from 0 to 5."),
    ("lexical_weight", True, "Give a number from 0 to 5."),
    ("lexical_weight", None, "Give a number from 0 to 5."),
    ("lexical_weight", 10**400, "Give a number from 0 to 5."),
    ("rrf_k", 0, "Give a whole number from 1 to 1000."),
    ("rrf_k", 1.5, "Give a whole number from 1 to 1000."),
    ("rrf_k", "inf", "Give a whole number from 1 to 1000."),
    ("fusion", "max", "Choose one of: standout, rrf, convex."),
    ("fusion", [], "Choose one of: standout, rrf, convex."),
    ("vote", -0.1, "Give a number from 0 to 100."),
    ("vote", 100.1, "Give a number from 0 to 100."),
    ("wieght", 1, "Choose one of: lexical_weight,"),
    ("prior_strength", 1.1, "Give a number from 0 to 1."),
    ("prior_strength", -0.1, "Give a number from 0 to 1."),
    ("second_stage", True, "Choose one of: off, late, cross-encoder."),
    ("second_stage", "on", "Choose one of: off, late, cross-encoder."),
    ("second_stage", None, "Choose one of: off, late, cross-encoder."),
    ("rerank_depth", 4, "Give a whole number from 5 to 50."),
    ("rerank_depth", 51, "Give a whole number from 5 to 50."),
    ("rerank_timeout_ms", 0, "Give a whole number from 10 to 10000."),
]


@pytest.mark.parametrize(("name", "value", "remedy"), REFUSED)
def test_settings_refuse_an_illegal_value_with_a_remedy(
    name: str, value: object, remedy: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        RecallSettings().changed({name: value})
    assert refused.value.field == name
    assert refused.value.remedy.startswith(remedy)
    assert len(str(refused.value)) < 200


anything = st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.lists(st.none())


@given(st.dictionaries(st.sampled_from([*LEGAL, "unknown"]), anything))
def test_settings_accept_or_refuse_any_change(changes: dict[str, object]) -> None:
    try:
        changed = RecallSettings().changed(changes)
    except InvalidInput:
        return
    assert RecallSettings().changed(changed.as_dict()) == changed


@given(st.dictionaries(st.sampled_from([*LEGAL, "of_a_newer_version"]), anything))
def test_stored_settings_skip_unusable_rows(rows: dict[str, object]) -> None:
    stored = RecallSettings().with_stored(rows)
    assert RecallSettings().changed(stored.as_dict()) == stored


def test_stored_settings_use_the_usable_rows() -> None:
    rows = {"rrf_k": 10, "fusion": "of a newer version", "of_a_newer_version": 1}
    assert RecallSettings().with_stored(rows) == RecallSettings(rrf_k=10)
    slow = RecallSettings(deadline_ms=9_000)
    assert slow.with_stored(rows) == RecallSettings(rrf_k=10, deadline_ms=9_000)


@pytest.mark.parametrize(
    ("factor", "deadline_ms", "rerank_timeout_ms"),
    [(1.0, 2_000, 500), (1.5, 3_000, 750), (25.0, 50_000, 10_000), (1_000.0, 60_000, 10_000)],
)
def test_scaled_settings_stay_legal(
    factor: float, deadline_ms: int, rerank_timeout_ms: int
) -> None:
    scaled = RecallSettings().scaled(factor)
    assert (scaled.deadline_ms, scaled.rerank_timeout_ms) == (deadline_ms, rerank_timeout_ms)
    assert RecallSettings().changed(scaled.as_dict()) == scaled
