"""The models that run on this machine: which there are, which are built, and how to get one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recollect.adapters.models.embedders.local_cache import fetch, is_built
from recollect.adapters.models.embedders.local_models import LOCAL_MODELS, LocalModel, local_model
from recollect.settings import Settings


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model, and whether it is built in this home."""

    model: LocalModel
    is_built: bool

    @property
    def download_mb(self) -> int:
        return self.model.download_size // 1_000_000


def find_models(settings: Settings) -> Iterator[FoundModel]:
    for model in LOCAL_MODELS.values():
        yield FoundModel(model, is_built(model, settings.models_folder))


def fetch_model(
    settings: Settings, name: str, progress: Callable[[str, float], None]
) -> tuple[LocalModel, Path]:
    """Fetch and build a model, unless it is there; it, and its folder."""
    model = local_model(name)
    return model, fetch(model, settings.models_folder, progress)
