"""The part of Kustomize that the manifests use: resources, and patches that are merged.

The program itself is a binary that no Python package brings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]

_KNOWN = {"apiVersion", "kind", "resources", "patches"}


def render(folder: Path) -> list[Manifest]:
    settings = yaml.safe_load((folder / "kustomization.yaml").read_text())
    unknown = set(settings) - _KNOWN
    assert not unknown, f"{folder} uses {unknown}, which this renderer does not know"
    manifests: list[Manifest] = []
    for name in settings["resources"]:
        path = folder / name
        manifests += render(path) if path.is_dir() else _read(path)
    for patch in settings.get("patches", []):
        (change,) = _read(folder / patch["path"])
        (target,) = [manifest for manifest in manifests if _identity(manifest) == _identity(change)]
        _merge(target, change)
    return manifests


def _read(path: Path) -> list[Manifest]:
    return [manifest for manifest in yaml.safe_load_all(path.read_text()) if manifest is not None]


def _identity(manifest: Manifest) -> tuple[str, str, str | None]:
    about = manifest["metadata"]
    return manifest["kind"], about["name"], about.get("namespace")


def _merge(target: Manifest, change: Manifest) -> None:
    for name, value in change.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict) and isinstance(target.get(name), dict):
            _merge(target[name], value)
        else:
            target[name] = value
