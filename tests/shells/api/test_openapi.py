"""The OpenAPI document: complete, true to what the server does, and readable without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no types
from tests.effort import scaled
from tests.serving import Running
from tests.waiting import SECONDS

from recollect.core import errors
from recollect.core.errors import RecollectError
from recollect.core.memory.memory import Changes, Draft
from recollect.core.recall.settings import RecallSettings
from recollect.wire.admin import SETTINGS, SettingsIn
from recollect.wire.inputs import ChangesIn, DraftIn
from recollect.wire.memory import MEMORY
from recollect.wire.problems import KINDS

HOOKS = Path(__file__).parent


@pytest.fixture
def document(shared_server: Running) -> dict[str, Any]:
    answer: dict[str, Any] = httpx.get(
        f"{shared_server.url}/api/v1/openapi.json", timeout=SECONDS
    ).json()
    return answer


def test_every_operation_is_described_with_examples_and_its_problems(
    document: dict[str, Any],
) -> None:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = f"{method} {path}"
            assert operation["summary"], name
            assert operation["description"], name
            is_open = path.rpartition("/v1/")[2] in ("health/live", "health/ready", "metrics")
            assert ("security" in operation) is not is_open, name
            assert ("401" in operation["responses"]) is not is_open, name
            for status, answer in operation["responses"].items():
                (media_type, media) = next(iter(answer["content"].items()))
                assert media.get("example") or media.get("examples"), f"{name} {status}"
                if int(status) >= 400:
                    assert media_type == "application/problem+json"
                    assert media["schema"] == {"$ref": "#/components/schemas/Problem"}
            if "requestBody" in operation:
                reference = operation["requestBody"]["content"]["application/json"]["schema"]
                shape = document["components"]["schemas"][reference["$ref"].split("/")[-1]]
                assert shape["examples"], name


def test_the_examples_of_answers_have_the_shapes_of_answers(document: dict[str, Any]) -> None:
    for shape in document["components"]["schemas"].values():
        if "properties" in shape:
            shape["additionalProperties"] = False
            # FastAPI omits nulls from examples.
            shape["required"] = [
                name
                for name in shape.get("required", ())
                if {"type": "null"} not in shape["properties"][name].get("anyOf", ())
            ]
    for path, methods in document["paths"].items():
        for answer in (
            each for operation in methods.values() for each in operation["responses"].values()
        ):
            media = answer["content"].get("application/json", {})
            if "example" in media:
                schema = {**media.get("schema", {}), "components": document["components"]}
                wrong = [*Draft202012Validator(schema).iter_errors(media["example"])]
                assert not wrong, path


def test_the_examples_show_the_default_settings(document: dict[str, Any]) -> None:
    answer = document["paths"]["/api/v1/settings"]["get"]["responses"]["200"]
    shown = SETTINGS.encode(RecallSettings())
    assert answer["content"]["application/json"]["example"] == shown


def test_the_examples_of_requests_are_accepted(
    document: dict[str, Any], own_server: Running
) -> None:
    shapes = document["components"]["schemas"]
    with own_server.client() as client:
        stored = client.post("memories", json=shapes["DraftIn"]["examples"][0])
        assert stored.status_code == 201
        batch = client.post("/memories:batch", json=shapes["BatchIn"]["examples"][0])
        assert {result["outcome"] for result in batch.json()["results"]} == {"stored"}
        path = f"memories/{stored.json()['id']}"
        assert client.patch(path, json=shapes["ChangesIn"]["examples"][0]).status_code == 200
        found = client.post("recall", json=shapes["RecallIn"]["examples"][0]).json()
        assert [hit["memory"]["id"] for hit in found["hits"]] == [stored.json()["id"]]
        why = {**shapes["WhyIn"]["examples"][0], "id": stored.json()["id"]}
        assert client.post("why", json=why).json()["recalled"]
        assert client.patch("settings", json=shapes["SettingsIn"]["examples"][0]).is_success


def test_the_content_limit_in_the_document_is_the_servers_own(database_url: str) -> None:
    from recollect.core.memory.memory import Limits
    from recollect.shells.api.openapi import complete_document

    shape = {"properties": {"content": {"maxLength": 8000}}}
    batch: dict[str, Any] = {"properties": {"memories": {}}}
    shapes = {"DraftIn": shape, "ChangesIn": shape, "BatchIn": batch}
    document: dict[str, Any] = {"paths": {}, "components": {"schemas": shapes}}
    limits = complete_document(document, Limits(content=123))["components"]["schemas"]
    assert limits["DraftIn"]["properties"]["content"]["maxLength"] == 123


def test_the_shapes_have_the_fields_of_the_domain() -> None:
    from dataclasses import fields

    from recollect.core.memory.memory import Memory

    settings = {field.name for field in fields(RecallSettings)}
    assert {*MEMORY.shape.model_fields, "was_known"} == {field.name for field in fields(Memory)}
    assert set(DraftIn.model_fields) == {field.name for field in fields(Draft)}
    assert set(ChangesIn.model_fields) == {*Changes.__annotations__, "based_on"}
    assert set(SETTINGS.shape.model_fields) == set(SettingsIn.model_fields) == settings


def test_every_error_has_a_status_and_a_type_of_its_own() -> None:
    declared = {
        cls
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, RecollectError)
    }
    assert set(KINDS) == declared - {RecollectError}
    assert len({kind.type for kind in KINDS.values()}) == len(KINDS)


def test_the_documentation_needs_nothing_from_another_server(shared_server: Running) -> None:
    page = httpx.get(f"{shared_server.url}/api/v1/docs", timeout=SECONDS)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    for name, kind in (("docs.js", "text/javascript"), ("docs.css", "text/css")):
        assert f"/api/v1/docs/{name}" in page.text
        asset = httpx.get(f"{shared_server.url}/api/v1/docs/{name}", timeout=SECONDS)
        assert asset.headers["Content-Type"].startswith(kind)
        assert "://" not in asset.text
    assert "://" not in page.text


@pytest.mark.slow
def test_schemathesis_finds_no_fault(
    own_server: Running, document: dict[str, Any], tmp_path: Path
) -> None:
    """All of its checks, in all of its phases, with a key. Among others it would find a 500, an
    undocumented answer, refused good data and accepted bad data. What stores send each other is any
    JSON, and has a test of its own (`tests/sync/test_hostile_pushes.py`).
    """
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run"),
        # One worker: Python 3.11 cannot parse in two threads at once, which hypothesis does.
        *("--seed", "20261115", "--max-examples", str(scaled(12)), "--workers", "1"),
        *("--generation-database", "none", "--no-color", "--exclude-path-regex", "/sync/"),
        # That a busy machine is slow must not be one of its findings.
        *("--request-timeout", "180", "--suppress-health-check", "too_slow"),
        *("--header", f"Authorization: Bearer {own_server.new_key()}"),
        f"{own_server.url}/api/v1/openapi.json",
    ]
    hooks = {"SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(HOOKS)}
    run = subprocess.run(
        command, cwd=tmp_path, env=os.environ | hooks, capture_output=True, text=True, timeout=900
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    operations = [
        (path, method) for path, methods in document["paths"].items() for method in methods
    ]
    selected = [path for path, _ in operations if "/sync/" not in path]
    assert f"{len(selected)} selected / {len(operations)} total" in run.stdout
