"""Which embedder a name selects, and the error when there is none."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.models.embedders.local_tiny import Index, tiny_files, tiny_model
from tests.loopback import Loopback, Status

from recollect.adapters.models.embedders import catalogue
from recollect.adapters.models.embedders.catalogue import Account, Catalogue
from recollect.adapters.models.embedders.folder import folder_embedder
from recollect.adapters.models.embedders.local_cache import fetch
from recollect.adapters.models.embedders.local_models import MINILM, MPNET
from recollect.core.errors import InvalidInput, ModelBusy, ModelUnavailable, RecollectError
from recollect.core.recall.space import Space

pytestmark = pytest.mark.anyio

KEY = "key-that-must-not-show"


async def space_of(name: str, models: Path, **options: Any) -> Space:
    async with Catalogue(models, **options) as embedders:
        return (await embedders.embedder(name)).space


async def error_of(name: str, models: Path, **options: Any) -> RecollectError:
    with pytest.raises(RecollectError) as caught:
        await space_of(name, models, **options)
    return caught.value


async def test_local_names_need_no_files_to_know_their_space(tmp_path: Path) -> None:
    assert await space_of("minilm", tmp_path / "models") == MINILM.space
    assert await space_of("mpnet", tmp_path / "models") == MPNET.space
    assert not (tmp_path / "models").exists()


async def test_a_model_is_made_once_and_closed_at_the_end(tmp_path: Path) -> None:
    async with Catalogue(tmp_path) as embedders:
        first, second = await asyncio.gather(
            embedders.embedder("mpnet"), embedders.embedder("mpnet")
        )
        assert first is second
    with pytest.raises(RuntimeError):  # its threads are gone
        await first.embed_query("x")


@pytest.mark.parametrize(
    ("name", "account", "space"),
    [
        ("voyage/voyage-3.5", Account(KEY), Space("voyage/voyage-3.5", "", 1024)),
        ("voyage/voyage-3.5@256", Account(KEY), Space("voyage/voyage-3.5", "", 256)),
        (
            "openai/text-embedding-3-small",
            Account(KEY),
            Space("openai/text-embedding-3-small", "", 1536),
        ),
        ("cohere/embed-v4.0", Account(KEY), Space("cohere/embed-v4.0", "", 1536)),
        (
            "compatible/nomic-embed-text:latest@768",
            Account(None, "http://127.0.0.1:11434/v1"),
            Space("compatible/nomic-embed-text:latest", "", 768),
        ),
    ],
)
async def test_hosted_names_carry_what_decides_about_the_vectors(
    tmp_path: Path, name: str, account: Account, space: Space
) -> None:
    accounts = {name.partition("/")[0]: account}
    assert await space_of(name, tmp_path, egress="hosted", accounts=accounts) == space


@pytest.mark.parametrize(
    ("name", "options", "field", "part"),
    [
        ("none", {}, "model", "unknown embedding model 'none'"),
        (
            "minillm",
            {},
            "model",
            "minilm, granite-30m, gte-small, multilingual, mpnet, minilm-fp32, folder:/PATH",
        ),
        ("openai", {}, "model", "unknown embedding model 'openai'"),
        ("voyage/voyage-3.5", {}, "RECOLLECT_VOYAGE_API_KEY", "Set RECOLLECT_VOYAGE_API_KEY"),
        ("compatible/x@8", {}, "RECOLLECT_COMPATIBLE_URL", "Set RECOLLECT_COMPATIBLE_URL"),
        (
            "compatible/x",
            {"accounts": {"compatible": Account(None, "http://127.0.0.1/v1")}},
            "model",
            "compatible/x@768",
        ),
        (
            "openai/text-embedding-3-small",
            {"accounts": {"openai": Account(KEY)}},
            "RECOLLECT_EGRESS",
            "RECOLLECT_EGRESS=hosted",
        ),
        ("folder:models/mine", {}, "model", "folder:/the/absolute/path"),
    ],
)
async def test_a_name_that_cannot_be_used_says_what_to_change(
    tmp_path: Path, name: str, options: Mapping[str, Any], field: str, part: str
) -> None:
    error = await error_of(name, tmp_path, **options)
    assert isinstance(error, InvalidInput)
    assert error.field == field
    assert part in f"{error} {error.remedy}"
    assert KEY not in f"{error} {error.remedy} {options}"


@pytest.mark.parametrize(("api", "egress"), [("voyage", "local"), ("openai", "hosted")])
async def test_a_server_on_this_machine_is_no_egress(tmp_path: Path, api: Any, egress: Any) -> None:
    with Loopback(api, dimension=8) as server:
        accounts = {api: Account(KEY, server.base_url)}
        async with Catalogue(tmp_path, egress=egress, accounts=accounts) as embedders:
            embedder = await embedders.embedder(f"{api}/some-model@8")
            assert not embedder.is_hosted
            (vector,) = await embedder.embed_documents(["hello"])
            assert len(vector) == 8


async def test_a_wait_requested_from_one_model_holds_for_the_whole_account(
    tmp_path: Path,
) -> None:
    with Loopback("compatible") as server:
        accounts = {"compatible": Account(None, server.base_url)}
        async with Catalogue(tmp_path, accounts=accounts) as embedders:
            old = await embedders.embedder("compatible/old@8")
            new = await embedders.embedder("compatible/new@8")
            server.misbehave(Status(429, (("Retry-After", "9999"),)))
            for embedder in (old, new):
                with pytest.raises(ModelBusy):
                    await embedder.embed_documents(["hello"])
        assert len(server.requests) == 1


async def test_what_leaves_this_machine_is_hosted_and_nothing_else(tmp_path: Path) -> None:
    accounts = {"voyage": Account(KEY)}
    async with Catalogue(tmp_path, egress="hosted", accounts=accounts) as embedders:
        assert (await embedders.embedder("voyage/voyage-3.5")).is_hosted
        assert not (await embedders.embedder("minilm")).is_hosted


@pytest.fixture
def built(index: Index, tmp_path: Path) -> Path:
    return fetch(tiny_model(index.source("tiny-model", tiny_files())), tmp_path / "models")


async def test_a_folder_can_be_named(built: Path, tmp_path: Path) -> None:
    space = await space_of(f"folder:{built}", tmp_path)
    assert (space.model, space.dimension) == (built.name, 32)


async def test_a_folder_without_a_model_is_looked_at_again_after_a_minute(
    built: Path, tmp_path: Path
) -> None:
    clock = [0.0]
    hidden = built.with_name("hidden")
    await asyncio.to_thread(built.rename, hidden)
    async with Catalogue(tmp_path, now=lambda: clock[0]) as embedders:
        with pytest.raises(ModelUnavailable, match=r"no model\.onnx"):
            await embedders.embedder(f"folder:{built}")
        hidden.rename(built)
        with pytest.raises(ModelUnavailable):
            await embedders.embedder(f"folder:{built}")
        clock[0] = 60.0
        assert (await embedders.embedder(f"folder:{built}")).space.dimension == 32


async def test_a_cancelled_recall_does_not_cancel_the_loading_of_the_model(
    built: Path, tmp_path: Path
) -> None:
    """Reading the model's configuration, a pipe, waits for the test. It is a pipe only once: if the
    model were loaded again, it would have the default length.
    """
    pipe = built / "sentence_bert_config.json"
    os.mkfifo(pipe)
    async with Catalogue(tmp_path) as embedders:
        impatient = asyncio.ensure_future(embedders.embedder(f"folder:{built}"))
        with await asyncio.to_thread(pipe.open, "w") as configuration:  # once it is read
            impatient.cancel()
            with pytest.raises(asyncio.CancelledError):
                await impatient
            await asyncio.to_thread(pipe.unlink)
            configuration.write('{"max_seq_length": 7}')
        embedder = await embedders.embedder(f"folder:{built}")
    expected = await asyncio.to_thread(folder_embedder, built, max_tokens=7)
    assert embedder.space == expected.space


def test_every_hosted_provider_can_be_named() -> None:
    from recollect.adapters.models.embedders.hosted import PROVIDERS

    assert set(catalogue.HOSTED) == set(PROVIDERS)
