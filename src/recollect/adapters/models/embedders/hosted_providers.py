"""How each hosted embedding API is spoken to: one small description a provider.

A provider differs from another in its address, its field names and its limits, and in nothing else:
what goes together, retries and checks are the engine's (`hosted.py`). Field names and limits are
those of the providers' API references: docs.voyageai.com/reference/embeddings-api,
developers.openai.com/api/reference/resources/embeddings, docs.cohere.com/reference/embed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Purpose = Literal["document", "query"]
# The vectors of an answer with the position of each in the request.
Numbered = list[tuple[object, object]]


@dataclass(frozen=True, slots=True)
class Model:
    """A model with a known dimension; `adjustable` if a request may ask for another."""

    dimension: int
    adjustable: bool = True


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `dimension` is None if the API must not get one."""

    model: str
    dimension: int | None
    purpose: Purpose
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Provider:
    """What the engine needs to know about an API. `parse` may raise KeyError, TypeError or
    IndexError: the engine treats each as an answer in the wrong format.
    """

    name: str
    path: str
    payload: Callable[[Ask], dict[str, object]]
    parse: Callable[[dict[str, Any]], Numbered]
    max_texts: int
    max_tokens: int
    base_url: str = ""
    default_model: str = ""
    models: Mapping[str, Model] = field(default_factory=dict)
    unknown_models_adjustable: bool = True
    max_text_tokens: int | None = None
    needs_key: bool = True


def _voyage_payload(ask: Ask) -> dict[str, object]:
    return {
        "input": list(ask.texts),
        "model": ask.model,
        "input_type": ask.purpose,
        "truncation": True,
    } | _unless_none("output_dimension", ask.dimension)


def _openai_payload(ask: Ask) -> dict[str, object]:
    return {
        "input": list(ask.texts),
        "model": ask.model,
        "encoding_format": "float",
    } | _unless_none("dimensions", ask.dimension)


def _compatible_payload(ask: Ask) -> dict[str, object]:
    return {"input": list(ask.texts), "model": ask.model}


def _cohere_payload(ask: Ask) -> dict[str, object]:
    return {
        "texts": list(ask.texts),
        "model": ask.model,
        "input_type": f"search_{ask.purpose}",
        "embedding_types": ["float"],
        "truncate": "END",
    } | _unless_none("output_dimension", ask.dimension)


def _unless_none(name: str, value: int | None) -> dict[str, object]:
    return {} if value is None else {name: value}


def _parse_data(answer: dict[str, Any]) -> Numbered:
    """The answer of OpenAI, Voyage and compatible servers: each vector numbered."""
    return [(item["index"], item["embedding"]) for item in answer["data"]]


def _parse_cohere(answer: dict[str, Any]) -> Numbered:
    """Cohere answers in the order of the texts, without numbers."""
    return list(enumerate(answer["embeddings"]["float"]))


# Each limit on texts is below the API's (Voyage 1,000, OpenAI 2,048, Cohere 96): an answer of 64
# vectors is already about a megabyte of JSON, and parsing it holds up everything else.
VOYAGE: Final = Provider(
    name="voyage",
    base_url="https://api.voyageai.com/v1",
    path="/embeddings",
    payload=_voyage_payload,
    parse=_parse_data,
    max_texts=64,
    max_tokens=120_000,  # 320,000 for voyage-3.5, but 120,000 for others of the family
    default_model="voyage-3.5",
    models={
        "voyage-3.5": Model(1024),
        "voyage-3.5-lite": Model(1024),
        "voyage-3-large": Model(1024),
        "voyage-code-3": Model(1024),
    },
)
OPENAI: Final = Provider(
    name="openai",
    base_url="https://api.openai.com/v1",
    path="/embeddings",
    payload=_openai_payload,
    parse=_parse_data,
    max_texts=64,
    max_tokens=300_000,
    max_text_tokens=8_192,  # the one API here that refuses a longer text instead of cutting it
    default_model="text-embedding-3-small",
    models={
        "text-embedding-3-small": Model(1536),
        "text-embedding-3-large": Model(3072),
        "text-embedding-ada-002": Model(1536, adjustable=False),
    },
)
COHERE: Final = Provider(
    name="cohere",
    base_url="https://api.cohere.com/v2",
    path="/embed",
    payload=_cohere_payload,
    parse=_parse_cohere,
    max_texts=64,
    max_tokens=128_000,  # the reference names none for a request; this is one text's context
    default_model="embed-v4.0",
    models={
        "embed-v4.0": Model(1536),
        "embed-english-v3.0": Model(1024, adjustable=False),
        "embed-multilingual-v3.0": Model(1024, adjustable=False),
        "embed-english-light-v3.0": Model(384, adjustable=False),
        "embed-multilingual-light-v3.0": Model(384, adjustable=False),
    },
)
# llama.cpp, Ollama, vLLM and their like: the base URL ends in /v1. No dimension is asked for: vLLM
# refuses the field, even with the right value, for a model that is not made for it.
COMPATIBLE: Final = Provider(
    name="compatible",
    path="/embeddings",
    payload=_compatible_payload,
    parse=_parse_data,
    max_texts=32,
    max_tokens=32_000,
    unknown_models_adjustable=False,
    needs_key=False,
)
PROVIDERS: Final[Mapping[str, Provider]] = {
    provider.name: provider for provider in (VOYAGE, OPENAI, COHERE, COMPATIBLE)
}
