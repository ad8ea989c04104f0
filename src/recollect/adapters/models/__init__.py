"""Embedders, rerankers, readers, and hosted APIs.

Every use of a library of models comes through here, so this is where what they would report is
switched off. onnxruntime reads its variable when it is loaded: since 1.29 it otherwise gives the
machine an id in the user's cache folder and reports which models are run to Microsoft.
"""

from __future__ import annotations

import os

os.environ.update(ORT_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_TELEMETRY="1")
