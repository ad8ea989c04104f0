"""Embedding models by name: creates the embedder for each kind of name.

    minilm, granite-30m, …           built on this machine from a package
    folder:/path/to/model            a folder with model.onnx and tokenizer.json
    hub:BAAI/bge-large-en-v1.5       a hub model, through fastembed
    voyage/voyage-3.5                hosted; openai/…, cohere/… likewise
    compatible/NAME@768              any OpenAI-compatible server

The name is stored with the space, and every process on that database creates its model from it. So
the name contains everything that determines the vectors, including the dimension (`@768`), and
nothing that differs between machines (keys, addresses, model folders).
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from recollect.adapters.models.embedders.local import LocalEmbedder, local_embedder
from recollect.adapters.models.embedders.local_models import LOCAL_MODELS
from recollect.adapters.models.embedders.weights import Progress
from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import InvalidInput, ModelUnavailable, RecollectError
from recollect.core.privacy.egress import Egress
from recollect.core.retry import MODEL_RETRY_SECONDS, RetryAfter
from recollect.ports.embedding import Embedder
from recollect.usecases.priority import Yield, no_yield

FOLDER: Final = "folder:"
HUB: Final = "hub:"
HOSTED: Final = ("voyage", "openai", "cohere", "compatible")
_DIMENSION: Final = re.compile(r"(?P<model>.+)@(?P<dimension>[1-9][0-9]{0,4})")


@dataclass(frozen=True, slots=True)
class Account:
    """How to reach a hosted provider; an empty `url` means the provider's own."""

    key: str | None = field(default=None, repr=False)
    url: str = ""


@dataclass(frozen=True, slots=True)
class _Creation:
    """An embedder that is ready, being created, or failed at `ended`."""

    task: asyncio.Task[Embedder]
    ended: list[float] = field(default_factory=list)


class Catalogue:
    """Implements `Embedders`. Use as an async context manager: it closes what it created."""

    def __init__(
        self,
        models: Path,
        *,
        egress: Egress = "local",
        accounts: Mapping[str, Account] | None = None,
        progress: Progress = lambda _step, _share: None,
        yield_to_callers: Yield = no_yield,
        timeouts: Timeouts = TIMEOUTS,
        may_fetch: bool = True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models = models
        self._egress = egress
        self._accounts = accounts or {}
        self._progress = progress
        self._yield = yield_to_callers
        self._timeouts = timeouts
        self._may_fetch = may_fetch
        self._now = now
        self._makings: dict[str, _Creation] = {}
        self._opened = AsyncExitStack()
        # When a provider asks an account to wait, that applies to all of its models.
        self._retry_after: dict[str, RetryAfter] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel creations in progress and close every embedder."""
        for making in self._makings.values():
            making.task.cancel()
        await asyncio.gather(
            *(making.task for making in self._makings.values()), return_exceptions=True
        )
        self._makings.clear()
        await self._opened.aclose()

    async def embedder(self, name: str) -> Embedder:
        """Return the embedder of this name. Raises InvalidInput if the name or the settings forbid
        it, ModelUnavailable if it does not work; it is then not retried for a minute.
        """
        making = self._makings.get(name)
        if making is None or (
            making.ended and self._now() - making.ended[0] >= MODEL_RETRY_SECONDS
        ):
            making = self._makings[name] = self._begin(name)
        # A recall that times out does not cancel the creation: the next one needs it.
        return await asyncio.shield(making.task)

    def _begin(self, name: str) -> _Creation:
        making = _Creation(asyncio.create_task(self._make(name), name=f"make {name}"))

        def ended(task: asyncio.Task[Embedder]) -> None:
            if not task.cancelled() and task.exception() is not None:
                making.ended.append(self._now())

        making.task.add_done_callback(ended)
        return making

    async def _make(self, name: str) -> Embedder:
        if name in LOCAL_MODELS:
            return await self._opened.enter_async_context(
                local_embedder(
                    self._models,
                    LOCAL_MODELS[name],
                    self._progress,
                    self._yield,
                    self._timeouts,
                    may_fetch=self._may_fetch,
                )
            )
        if name.startswith((FOLDER, HUB)):
            return await self._opened.enter_async_context(
                await asyncio.to_thread(
                    _load_from_files, name, self._models, self._yield, self._timeouts
                )
            )
        provider, separator, model = name.partition("/")
        if separator and provider in HOSTED:
            return await self._make_hosted(provider, model)
        raise _unknown_model_error(name)

    async def _make_hosted(self, provider: str, name: str) -> Embedder:
        from recollect.adapters.models.embedders.hosted import PROVIDERS, HostedEmbedder

        found = _DIMENSION.fullmatch(name)
        model, dimension = (found["model"], int(found["dimension"])) if found else (name, None)
        account = self._accounts.get(provider, Account())
        _check_known(provider, model, dimension, account)
        embedder = HostedEmbedder(
            PROVIDERS[provider],
            egress=self._egress,
            key=account.key,
            model=model,
            dimension=dimension,
            base_url=account.url,
            retry_after=self._retry_after.setdefault(provider, RetryAfter()),
        )
        return await self._opened.enter_async_context(embedder)


def _load_from_files(
    name: str, models: Path, yield_to_callers: Yield, timeouts: Timeouts
) -> LocalEmbedder:
    """Load or look up the model. This takes long: call it in a thread."""
    if name.startswith(HUB):
        from recollect.adapters.models.embedders.hub import hub_embedder

        return hub_embedder(
            name.removeprefix(HUB), models, yield_to_callers=yield_to_callers, timeouts=timeouts
        )
    from recollect.adapters.models.embedders.folder import folder_embedder

    folder = Path(name.removeprefix(FOLDER)).expanduser()
    if not folder.is_absolute():
        raise InvalidInput(
            f"{name!r} is not an absolute path, and other processes start in other folders",
            field="model",
            remedy="Write folder:/the/absolute/path.",
        )
    try:
        return folder_embedder(folder, yield_to_callers=yield_to_callers, timeouts=timeouts)
    except OSError as error:
        raise ModelUnavailable(
            f"the model in {folder} could not be read ({error.strerror})",
            remedy="Make the folder and its files readable for this user.",
        ) from error


def _check_known(provider: str, model: str, dimension: int | None, account: Account) -> None:
    """Check that nothing is missing, with an error that names the variable or the part of the name;
    the adapter's own errors are more general.
    """
    from recollect.adapters.models.embedders.hosted import PROVIDERS

    variable = f"RECOLLECT_{provider.upper()}"
    known = PROVIDERS[provider]
    if not (account.url or known.base_url):
        raise InvalidInput(
            f"the address of the server for {provider}/{model} is not set",
            field=f"{variable}_URL",
            remedy=f"Set {variable}_URL, for example to http://127.0.0.1:11434/v1.",
        )
    if known.needs_key and not account.key:
        raise InvalidInput(
            f"{provider}/{model} needs a key",
            field=f"{variable}_API_KEY",
            remedy=f"Set {variable}_API_KEY to the key that the provider gave you, or use a "
            "local model.",
        )
    if not model or (dimension is None and model not in known.models):
        raise InvalidInput(
            f"the dimension of {provider}/{model or 'MODEL'} is unknown",
            field="model",
            remedy=f"Append it to the name: {provider}/{model or 'MODEL'}@768, with the dimension "
            "that the model's page gives.",
        )


def _unknown_model_error(name: str) -> RecollectError:
    return InvalidInput(
        f"unknown embedding model {name!r}",
        field="model",
        remedy=f"Use {', '.join(LOCAL_MODELS)}, folder:/PATH, hub:NAME, or "
        f"{', '.join(f'{provider}/NAME' for provider in HOSTED)}.",
    )
