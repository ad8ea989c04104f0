"""Embedders, rerankers, readers, and hosted APIs.

Every use of a model library imports this package first, so this is where their telemetry is turned
off. onnxruntime reads its variable when it is loaded: since 1.29 it otherwise stores an id of the
machine in the user's cache folder and reports to Microsoft which models are run.
"""

from __future__ import annotations

import os

os.environ.update(ORT_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_TELEMETRY="1")
