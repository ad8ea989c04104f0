"""The environment as settings: customary names are read, and secrets are not shown."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from recollect.core.admin.variables import SecretStr
from recollect.core.errors import InvalidInput
from recollect.settings import Settings, load


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


def test_egress_is_local_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_EGRESS", raising=False)
    assert load().egress == "local"


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("MAX_CONTENT", " 1_000.0 ", 1_000),
        ("PORT", "+5", 5),
        ("SYNC_INTERVAL", "1e1", 10.0),
        ("SYNC_SENSITIVE", "Yes", True),
        ("SYNC_SENSITIVE", "f", False),
        ("ALLOWED_HOSTS", "a.example, b.example,,", ("a.example", "b.example")),
        ("MODELS", "~/models", Path("~/models")),
        ("API_URL", "", None),
    ],
)
def test_a_variable_is_read_as_its_type(
    name: str, value: str, read: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"RECOLLECT_{name}", value)
    assert getattr(load(), name.lower()) == read


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MAX_CONTENT", "5.5", "a valid integer, unable to parse string as an integer"),
        ("MAX_CONTENT", "٣", "a valid integer, unable to parse string as an integer"),
        ("MAX_CONTENT", "0", "greater than or equal to 1"),
        ("PORT", "70000", "less than or equal to 65535"),
        ("SYNC_INTERVAL", "1_0", "a valid number, unable to parse string as a number"),
        ("SYNC_INTERVAL", "nan", "less than or equal to 86400"),
        ("SYNC_INTERVAL", "0.05", "greater than or equal to 0.1"),
        ("SYNC_SENSITIVE", "maybe", "a valid boolean, unable to interpret input"),
        ("GRAPH", "some", "'off', 'rules' or 'llm'"),
    ],
)
def test_the_error_says_what_should_be_there(
    name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"RECOLLECT_{name}", value)
    with pytest.raises(InvalidInput) as caught:
        load()
    assert str(caught.value) == f"RECOLLECT_{name} is invalid: Input should be {message}"


def test_the_case_of_a_variable_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("recollect_capture_daily", "7")
    assert load().capture_daily == 7


@pytest.mark.parametrize(
    ("given", "named"),
    [({"port": 70_000}, "PORT"), ({"embedder": ""}, "EMBEDDER"), ({"bogus": 1}, "BOGUS")],
)
def test_settings_passed_in_code_are_validated(given: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(**given)
    assert caught.value.field == f"RECOLLECT_{named}"


def test_arguments_override_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_API_URL", "https://memory.example")
    assert load(api_url=None).api_url is None
    assert load(api_key="rk_x").api_key == SecretStr("rk_x")


def test_no_secret_shows_in_the_settings() -> None:
    secrets = [field.name for field in fields(Settings) if "SecretStr" in str(field.type)]
    assert "database_url" in secrets
    assert "hidden" not in str(load(**dict.fromkeys(secrets, "hidden")))
