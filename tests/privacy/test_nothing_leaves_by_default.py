"""RECOLLECT_EGRESS=local is the default: with it no hosted service is contacted in any way, and
every place that a user would check says why.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.loopback import Api, Loopback
from tests.privacy.canaries import canary
from tests.processes import COMMAND, environment
from tests.shells.cli.commands import Cli

from recollect.adapters.models.embedders.catalogue import HOSTED
from recollect.adapters.models.embedders.hosted import PROVIDERS
from recollect.core.errors import InvalidInput, ModelUnavailable
from recollect.core.memory.memory import Draft
from recollect.core.recall.request import RecallRequest
from recollect.settings import load
from recollect.usecases.service import LocalService
from recollect.usecases.workers.reembed import status
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker
from recollect.wiring.context import catalogue
from recollect.wiring.server import open_server

pytestmark = pytest.mark.anyio

ELSEWHERE: Final = "https://embeddings.invalid/v1"
NAMES: Final = {name: f"{name}/{PROVIDERS[name].default_model or 'model@8'}" for name in HOSTED}
SETTINGS: Final[dict[str, object]] = {
    "compatible_url": ELSEWHERE,
    **{f"{name}_api_key": "key-that-is-set" for name in HOSTED},
}


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """The proxy through which anything for another machine would have to go."""
    with Loopback("openai") as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            for variable in (name, name.upper()):
                monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        for variable in ("no_proxy", "NO_PROXY", "RECOLLECT_EGRESS"):
            monkeypatch.delenv(variable, raising=False)
        yield proxy


def test_every_provider_is_tried_here() -> None:
    assert set(HOSTED) == set(PROVIDERS)


def test_local_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_EGRESS", raising=False)
    assert load().egress == "local"
    monkeypatch.setenv("RECOLLECT_EGRESS", "everything")
    with pytest.raises(InvalidInput, match="RECOLLECT_EGRESS"):
        load()


@pytest.mark.parametrize("provider", HOSTED)
async def test_hosted_models_are_refused_by_default(
    provider: str, watched: Loopback, tmp_path: Path
) -> None:
    settings = load(home=tmp_path, **SETTINGS)

    async with catalogue(settings, lambda _step, _share: None) as embedders:
        with pytest.raises(InvalidInput) as refused:
            await embedders.embedder(NAMES[provider])
    assert refused.value.field == "RECOLLECT_EGRESS"
    assert "RECOLLECT_EGRESS=hosted" in refused.value.remedy
    assert not watched.received, bytes(watched.received)


@pytest.mark.parametrize("provider", HOSTED)
async def test_hosted_egress_goes_through_the_watched_proxy(
    provider: str, watched: Loopback, tmp_path: Path
) -> None:
    """Otherwise the test above would prove nothing."""
    settings = load(home=tmp_path, egress="hosted", **SETTINGS)

    async with catalogue(settings, lambda _step, _share: None) as embedders:
        embedder = await embedders.embedder(NAMES[provider])
        assert embedder.is_hosted
        async with asyncio.timeout(120):
            while not watched.received:  # a busy machine may not connect in a query's time
                with pytest.raises(ModelUnavailable):  # the proxy speaks no TLS
                    await embedder.embed_query("sparrow")
    assert watched.received.startswith(b"CONNECT ")


@pytest.mark.parametrize("provider", HOSTED)
async def test_recall_continues_by_words_and_says_why(
    provider: Api, watched: Loopback, database_url: str, tmp_path: Path
) -> None:
    """The memories were embedded by a service on this machine; then its address was lost."""
    common = {"home": tmp_path, "database_url": database_url, "embedder": NAMES[provider]}

    with Loopback(provider) as here:
        settings = load(**common, **{**SETTINGS, f"{provider}_url": here.base_url})
        async with open_server(settings) as server:
            await LocalService(server.context, "me").remember(Draft(f"the {canary('one')} sings"))
            assert server.embedding is not None
            await Worker(EmbeddingStep(server.embedding)).work_off()
        assert here.saw(canary("one"))
    async with open_server(load(**common, **SETTINGS)) as server:
        mine = LocalService(server.context, "me")
        await mine.remember(Draft(f"a second {canary('two')}"))
        assert server.embedding is not None
        with pytest.raises(InvalidInput, match="RECOLLECT_EGRESS"):
            await Worker(EmbeddingStep(server.embedding)).work_off()
        (space,) = await status(server.embedding)
        assert "RECOLLECT_EGRESS" in str(space.progress.last_error)
        found = await mine.recall(RecallRequest(canary("one")))
    assert [hit.memory.content for hit in found.hits] == [f"the {canary('one')} sings"]
    assert found.degraded == ("dense",)
    assert "RECOLLECT_EGRESS=local keeps all text on this machine" in str(found.legs["dense"].note)
    assert not watched.received, bytes(watched.received)


@pytest.mark.parametrize("provider", HOSTED)
def test_the_doctor_says_why(provider: str, watched: Loopback, tmp_path: Path) -> None:
    variables = {f"RECOLLECT_{name.upper()}": str(value) for name, value in SETTINGS.items()}
    asked = Cli(tmp_path, {**variables, "RECOLLECT_EMBEDDER": NAMES[provider]})("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(asked.stdout)["checks"]}
    assert checks["egress"]["detail"].startswith("local: no text is sent")
    assert checks["embedder"]["status"] == "fail"
    assert "RECOLLECT_EGRESS=local" in checks["embedder"]["detail"]
    assert "RECOLLECT_EGRESS=hosted" in checks["embedder"]["remedy"]
    assert asked.exit_code == 1
    assert not watched.received, bytes(watched.received)


def test_the_doctor_says_when_it_is_open(tmp_path: Path) -> None:
    asked = Cli(tmp_path, {"RECOLLECT_EGRESS": "hosted"})("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(asked.stdout)["checks"]}
    assert checks["egress"]["detail"].startswith("hosted: queries")


def test_the_runtime_of_the_models_reports_nothing(
    home_with_model: Path, tmp_path: Path, real_processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To report, onnxruntime would first write an id of the machine to the user's cache. Where CI
    is set, it reports nothing anyway.
    """
    user = tmp_path / "user"
    monkeypatch.setenv("HOME", str(user))
    for variable in ("CI", "TF_BUILD", "GITHUB_ACTIONS", "XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY"):
        monkeypatch.delenv(variable, raising=False)
    for command in (["remember", "The spare key is under the mat"], ["recall", "how do I get in?"]):
        done = subprocess.run(
            [*COMMAND, *command],
            env=environment(RECOLLECT_HOME=str(home_with_model)),
            capture_output=True,
            text=True,
            check=True,
        )
    assert "under the mat" in done.stdout  # found by meaning: the model ran
    assert not [*user.rglob("*")]
