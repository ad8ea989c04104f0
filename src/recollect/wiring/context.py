"""The parts that every way of running Recollect shares: clock, models, the use cases' context."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect.ports.recall import Reranker
from recollect.ports.stores import MemoryStore, SettingsStore
from recollect.usecases.context import Context
from recollect.usecases.priority import Yield, no_yield
from recollect.usecases.recall.lexical import lexical_leg

if TYPE_CHECKING:
    from recollect.adapters.models.embedders.catalogue import Catalogue
    from recollect.core.retry import RetryPolicy
    from recollect.ports.curation import AskedModel, CurationStore
    from recollect.ports.graph import FactReader
    from recollect.settings import Settings
    from recollect.usecases.curation.propose import CurationContext
    from recollect.usecases.recall.dense import Backgrounds
    from recollect.usecases.workers.embed import EmbeddingContext

Progress = Callable[[str, float], None]
"""Called with the current step of building a model, and the share of it that is done, 0 to 1."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class _Store(MemoryStore, SettingsStore, Protocol):
    """Both stores hold the run-time settings alongside the memories."""


class _CuratedStore(Protocol):
    @property
    def curation(self) -> CurationStore:
        """The store of proposals, imported on first use."""


def build_context(store: _Store, settings: Settings) -> Context:
    """Return the use cases' context for one store."""
    return Context(
        store=store,
        settings=store,
        clock=SystemClock(),
        legs={"lexical": lexical_leg(store)},
        limits=settings.limits,
        default_settings=RecallSettings().scaled(settings.timeout_factor),
        timeouts=settings.timeouts,
    )


def with_curation(context: Context, store: _CuratedStore) -> Context:
    """Add the store's proposals to the context."""
    return replace(
        context,
        curation=lambda: store.curation,
        curation_counts=lambda owner: store.curation.counts(owner),
    )


def build_curation(context: Context, settings: Settings) -> CurationContext | None:
    """Return what the curator needs, or None if curation is off."""
    if settings.curation == "off" or context.curation is None:
        return None
    from recollect.usecases.curation.propose import CurationContext

    return CurationContext(
        context,
        context.curation(),
        settings.curation,
        settings.curation_confidence,
        build_curation_model(settings) if settings.curation_calls else None,
        settings.curation_calls,
    )


def build_curation_model(settings: Settings) -> AskedModel | None:
    """Return the language model that judges doubtful pairs, if one is configured."""
    from recollect.core.retry import CURATION_RETRIES

    return build_language_model(settings, CURATION_RETRIES)


def build_language_model(settings: Settings, retries: RetryPolicy) -> AskedModel | None:
    if not settings.llm_url and not settings.llm_command:
        return None
    from recollect.adapters.models.language_model import choose_model

    key = settings.llm_api_key
    return choose_model(
        url=settings.llm_url,
        model=settings.llm_model,
        key=key.get_secret_value() if key else None,
        command=settings.llm_command,
        egress=settings.egress,
        retries=retries,
    )


def catalogue(
    settings: Settings,
    progress: Progress,
    yield_to_callers: Yield = no_yield,
    *,
    may_fetch: bool = True,
) -> Catalogue:
    """Return the embedding models that these settings allow. Embedding documents uses
    `yield_to_callers` to give way to recalls. Without `may_fetch`, a local model that is not on
    this machine is an error.
    """
    from recollect.adapters.models.embedders.catalogue import Account, Catalogue

    accounts = {
        "voyage": (settings.voyage_api_key, settings.voyage_url),
        "openai": (settings.openai_api_key, settings.openai_url),
        "cohere": (settings.cohere_api_key, settings.cohere_url),
        "compatible": (settings.compatible_api_key, settings.compatible_url),
    }
    return Catalogue(
        settings.models_folder,
        egress=settings.egress,
        accounts={
            name: Account(key.get_secret_value() if key else None, url or "")
            for name, (key, url) in accounts.items()
        },
        progress=progress,
        yield_to_callers=yield_to_callers,
        timeouts=settings.timeouts,
        may_fetch=may_fetch,
    )


def open_reranker(settings: Settings) -> AbstractAsyncContextManager[Reranker | None]:
    """Open the second stage's model, if one is configured; its files are read on first use."""
    kind, _, name = (settings.reranker or "").partition(":")
    if not kind:
        return nullcontext()
    if kind == "folder" and name:
        from recollect.adapters.models.rerankers.cross_encoder import folder_reranker

        return folder_reranker(Path(name).expanduser())
    if kind == "hub" and name:
        from recollect.adapters.models.rerankers.cross_encoder import hub_reranker

        return hub_reranker(name, cache=settings.models_folder)
    raise InvalidInput(
        f"RECOLLECT_RERANKER cannot be {settings.reranker!r}",
        field="RECOLLECT_RERANKER",
        remedy="Name a folder with model.onnx and tokenizer.json as folder:/path, or one of the "
        "hub's models as hub:BAAI/bge-reranker-v2-m3.",
    )


def open_reader(settings: Settings) -> AbstractAsyncContextManager[FactReader | None]:
    """Open the language model that reads memories for the concept graph, if it is enabled."""
    if settings.graph != "llm":
        return nullcontext()
    from recollect.adapters.models.language_model import compatible_reader

    key = settings.llm_api_key
    return compatible_reader(
        settings.llm_url,
        settings.llm_model,
        egress=settings.egress,
        key=key.get_secret_value() if key else None,
    )


async def load_model(
    embedding: EmbeddingContext, backgrounds: Backgrounds, default: str | None
) -> None:
    """Load the model of the active space, or else the default, and all that a recall needs of it.
    Raise ModelUnavailable if it cannot be loaded.
    """
    spaces = await embedding.queue.spaces()
    active = next((space.embedder for space in spaces if space.state == "active"), default)
    if active is None:
        return
    embedder = await embedding.embedders.embedder(active)
    if not embedder.is_hosted:
        await embedder.embed_documents(["recollect"])
        await backgrounds.prepare(embedder)
