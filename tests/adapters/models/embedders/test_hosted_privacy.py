"""Nothing is sent unless allowed, and neither key nor text appears in an error, a log or a repr."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import pytest
from tests.loopback import Api, Cut, Fault, Garbage, Loopback, Spoiled, Status

from recollect.adapters.models.embedders.hosted import (
    COMPATIBLE,
    OPENAI,
    PROVIDERS,
    VOYAGE,
    HostedEmbedder,
)
from recollect.core.errors import InvalidInput, ModelUnavailable

pytestmark = pytest.mark.anyio

APIS: tuple[Api, ...] = ("voyage", "openai", "cohere", "compatible")
KEY = "key-that-must-not-show"
TEXT = "text-that-must-not-show"


@pytest.fixture(params=APIS)
def server(request: pytest.FixtureRequest) -> Iterator[Loopback]:
    with Loopback(request.param) as started:
        yield started


async def _skip_wait(_: float) -> None:
    return


def make_embedder(server: Loopback) -> HostedEmbedder:
    return HostedEmbedder(
        PROVIDERS[server.api],
        egress="local",
        key=KEY,
        model="some-model",
        dimension=8,
        base_url=server.base_url,
        sleep=_skip_wait,
    )


@pytest.mark.parametrize("api", ["voyage", "openai", "cohere"])
def test_by_default_no_hosted_embedder_can_even_be_made(api: Api) -> None:
    with pytest.raises(InvalidInput) as caught:
        HostedEmbedder(PROVIDERS[api], egress="local", key=KEY)
    assert caught.value.field == "RECOLLECT_EGRESS"
    assert KEY not in str(caught.value) + caught.value.remedy


@pytest.mark.parametrize("api", ["voyage", "openai", "cohere"])
def test_when_opened_it_can(api: Api) -> None:
    embedder = HostedEmbedder(PROVIDERS[api], egress="hosted", key=KEY)
    assert KEY not in repr(embedder)


def test_a_key_is_not_sent_in_the_clear_to_another_machine() -> None:
    with pytest.raises(InvalidInput, match="key"):
        HostedEmbedder(
            COMPATIBLE,
            egress="hosted",
            key=KEY,
            model="m",
            dimension=8,
            base_url="http://10.0.0.5/v1",
        )


@pytest.mark.parametrize("key", [None, "", "  "])
def test_provider_requires_its_key(key: str | None) -> None:
    with pytest.raises(InvalidInput, match="needs a key"):
        HostedEmbedder(VOYAGE, egress="hosted", key=key)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "caf\u00e9"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        HostedEmbedder(OPENAI, egress="hosted", key=key)
    assert key not in str(caught.value) + caught.value.remedy


@pytest.mark.parametrize(
    ("model", "dimension"), [("unheard-of", None), ("text-embedding-ada-002", 512), ("m", 0)]
)
def test_a_model_without_a_dimension_is_refused(model: str, dimension: int | None) -> None:
    with pytest.raises(InvalidInput) as caught:
        HostedEmbedder(OPENAI, egress="hosted", key=KEY, model=model, dimension=dimension)
    assert caught.value.field == "dimension"


@pytest.mark.parametrize(
    "fault",
    [None, Status(400), Status(500), Cut(), Garbage(TEXT.encode()), Spoiled(missing=1)],
    ids=str,
)
async def test_neither_key_nor_text_shows(
    server: Loopback, fault: Fault | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    if fault is not None:
        server.misbehave(*[fault] * 10)
    shown: list[str] = []

    async def run() -> None:
        async with make_embedder(server) as embedder:
            shown.append(repr(embedder))
            await embedder.embed_documents([TEXT])

    if fault is None:
        await run()
    else:
        with pytest.raises(ModelUnavailable) as caught:
            await run()
        shown += [repr(caught.value), caught.value.remedy]
        shown += traceback.format_exception(caught.value)
        # The HTTP library's exception holds the request: it must not be chained to this one.
        assert caught.value.__context__ is None
    assert server.saw(KEY)
    assert server.saw(TEXT)
    everything = "\n".join([*shown, caplog.text])
    assert KEY not in everything
    assert TEXT not in everything


async def test_a_proxy_of_the_environment_sees_nothing_meant_for_this_machine(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Loopback("openai") as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)

        async with make_embedder(server) as embedder:
            await embedder.embed_documents([TEXT])
        assert not proxy.received, bytes(proxy.received)
    assert server.saw(TEXT)
