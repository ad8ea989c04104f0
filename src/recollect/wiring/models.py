"""The models that run on this machine: which exist, which are built, and how to get one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recollect.adapters.models.embedders.local_cache import (
    fetch,
    is_built,
    is_present,
    model_folder,
)
from recollect.adapters.models.embedders.local_models import LOCAL_MODELS, LocalModel, local_model
from recollect.settings import Settings
from recollect.wiring.local import find_needed_model


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model, and whether it is built in this home. Damaged: its folder holds something else."""

    model: LocalModel
    is_built: bool
    is_damaged: bool

    @property
    def download_mb(self) -> int:
        return self.model.download_size // 1_000_000


def find_models(settings: Settings) -> Iterator[FoundModel]:
    for model in LOCAL_MODELS.values():
        built = is_built(model, settings.models_folder)
        exists = model_folder(model, settings.models_folder).exists()
        yield FoundModel(model, built, is_damaged=exists and not built)


def find_missing_model(settings: Settings) -> LocalModel | None:
    """Return the model that recall by meaning on the local store lacks, if any."""
    model = LOCAL_MODELS.get(find_needed_model(settings))
    if settings.mode != "local" or model is None or is_present(model, settings.models_folder):
        return None
    return model


def fetch_model(
    settings: Settings,
    name: str,
    progress: Callable[[str, float], None],
    origin: Path | None = None,
) -> tuple[LocalModel, Path]:
    """Build a model from a download, or from the files in `origin`, unless it is already built.
    Return the model and its folder.
    """
    model = local_model(name)
    return model, fetch(model, settings.models_folder, progress, origin)
