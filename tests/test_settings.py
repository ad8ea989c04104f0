"""The environment as settings: customary names are read, and a secret does not show."""

from __future__ import annotations

import pytest

from recollect.core.errors import InvalidInput
from recollect.settings import load


@pytest.mark.parametrize("provider", ["voyage", "openai", "cohere"])
def test_our_variable_comes_before_the_providers_own(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key() -> str | None:
        found = getattr(load(), f"{provider}_api_key")
        return None if found is None else str(found.get_secret_value())

    customary = f"{provider.upper()}_API_KEY"
    monkeypatch.delenv(customary, raising=False)
    monkeypatch.delenv(f"RECOLLECT_{customary}", raising=False)
    assert key() is None
    monkeypatch.setenv(customary, "customary")
    assert key() == "customary"
    monkeypatch.setenv(f"RECOLLECT_{customary}", "ours")
    assert key() == "ours"
    assert "ours" not in repr(load())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EGRESS", "everywhere"),
        ("WORKER", "outside"),
        ("PORT", "x"),
        ("OWNER", " "),
        ("OWNER", "x" * 201),
        ("OWNER", "\udcff"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"RECOLLECT_{name}", value)
    with pytest.raises(InvalidInput) as caught:
        load()
    assert caught.value.field == f"RECOLLECT_{name}"


def test_nothing_leaves_unless_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_EGRESS", raising=False)
    assert load().egress == "local"
