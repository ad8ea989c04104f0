"""An encoder like BERT in torch, as a function of its weights, which keep their published names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from train_model.weights import Weights, load_pieces

Tensor = Any  # torch has types only where it is installed
WORDS = "embeddings.word_embeddings.weight"
POSITIONS = "embeddings.position_embeddings.weight"


@dataclass
class Encoder:
    weights: dict[str, Tensor]
    heads: int
    epsilon: float
    pooling: str = "mean"
    tokens: str = ""  # the prefix of its token ids in a shard
    padding: int = 0
    end: int = 102

    @property
    def layers(self) -> int:
        return 1 + max(int(n.split(".")[2]) for n in self.weights if n.startswith("encoder.layer."))

    def states(self, ids: Tensor, mask: Tensor) -> list[Tensor]:
        """Return the token states after the embeddings and after each layer."""
        length = ids.shape[1]
        x = functional.embedding(ids, self.weights[WORDS]) + self.weights[POSITIONS][:length]
        x = self._norm("embeddings.LayerNorm", x)
        bias = mask[:, None, None, :]
        if (distances := self.weights.get("distances")) is not None:
            places = torch.arange(length, device=ids.device)
            column = places[None, :] - places[:, None] + distances.shape[1] // 2
            hidden = torch.where(bias, 0.0, -1e4).to(x.dtype)
            bias = distances[:, column][None] + hidden
        found = [x]
        for number in range(self.layers):
            found.append(self._layer(f"encoder.layer.{number}", found[-1], bias))
        return found

    def _layer(self, prefix: str, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = (
            self._linear(f"{prefix}.attention.self.{part}", x)
            .view(batch, length, self.heads, width // self.heads)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        joined = attended.transpose(1, 2).reshape(batch, length, width)
        output = self._linear(f"{prefix}.attention.output.dense", joined)
        x = self._norm(f"{prefix}.attention.output.LayerNorm", x + output)
        inner = functional.gelu(self._linear(f"{prefix}.intermediate.dense", x))
        output = self._linear(f"{prefix}.output.dense", inner)
        return self._norm(f"{prefix}.output.LayerNorm", x + output)

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, name: str, x: Tensor) -> Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return functional.layer_norm(x, x.shape[-1:], weight, bias, self.epsilon)

    def pool(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return unit vectors of texts from the states of their tokens."""
        if self.pooling == "cls":
            return functional.normalize(states[:, 0].float(), dim=-1)
        seen = mask[..., None].float()
        return functional.normalize((states.float() * seen).sum(1) / seen.sum(1), dim=-1)


def load_teacher(folder: Path, name: str, device: str, kind: Any) -> Encoder:  # noqa: ANN401
    settings = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return Encoder(to_tensors(load_pieces(folder, name), device, kind), **settings)


def to_tensors(weights: Weights, device: str, kind: Any) -> dict[str, Tensor]:  # noqa: ANN401
    return {name: torch.from_numpy(array).to(device, kind) for name, array in weights.items()}


def every_second_layer(weights: Weights) -> Weights:
    """Return a network of half the depth: of each two layers the second, where states are whole."""
    kept: Weights = {}
    for name, array in weights.items():
        parts = name.split(".")
        if parts[:2] == ["encoder", "layer"]:
            if int(parts[2]) % 2:
                kept[".".join([*parts[:2], str(int(parts[2]) // 2), *parts[3:]])] = array
        else:
            kept[name] = array
    return kept


@dataclass
class Texts:
    """Token ids of many texts, end to end."""

    flat: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, flats: list[np.ndarray], lengths: list[np.ndarray], device: str) -> Texts:
        flat = torch.from_numpy(np.concatenate(flats).astype(np.int32))
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
        return cls(flat.to(device), torch.from_numpy(offsets).to(device))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Tensor:
        return self.offsets[1:] - self.offsets[:-1]

    def batch(self, chosen: Tensor, longest: int, padding: int, end: int) -> tuple[Tensor, Tensor]:
        """Return ids and mask. A text that is cut keeps its last token."""
        counts = self.lengths[chosen]
        width = min(longest, (int(counts.max()) + 7) // 8 * 8)
        places = torch.arange(width, device=self.flat.device)
        mask = places[None] < counts.clamp(max=width)[:, None]
        at = (self.offsets[chosen][:, None] + places[None]).clamp(max=len(self.flat) - 1)
        ids = torch.where(mask, self.flat[at].long(), padding)
        ids[counts > width, width - 1] = end
        return ids, mask

    def batches(self, tokens: int, longest: int, order: Any = None) -> Iterator[Tensor]:  # noqa: ANN401
        """Yield numbers of texts of like length, with about this many tokens in a batch. `order`, a
        generator, shuffles the batches.
        """
        chosen = torch.arange(len(self))
        if order is not None:
            chosen = torch.randperm(len(self), generator=order)[:400_000]
        lengths = self.lengths.cpu()[chosen].clamp(max=longest)
        chosen = chosen[torch.argsort(lengths, stable=True)]
        ordered = torch.sort(lengths).values.tolist()
        cuts = [0]
        while cuts[-1] < len(chosen):
            first = cuts[-1]
            most = min(len(chosen), first + max(1, tokens // ordered[first])) - 1
            cuts.append(min(len(chosen), first + max(1, tokens // ordered[most])))
        pieces = [chosen[start:stop] for start, stop in pairwise(cuts)]
        if order is not None:
            pieces = [pieces[at] for at in torch.randperm(len(pieces), generator=order).tolist()]
        for piece in pieces:
            yield piece.to(self.flat.device)


@torch.no_grad()  # type: ignore[untyped-decorator,unused-ignore]
def embed(encoder: Encoder, texts: Texts, longest: int, tokens: int = 131_072) -> Tensor:
    """Return the unit vector of each text, in 16 bits."""
    found = None
    for chosen in texts.batches(tokens, longest):
        ids, mask = texts.batch(chosen, longest, encoder.padding, encoder.end)
        vectors = encoder.pool(encoder.states(ids, mask)[-1], mask).half()
        if found is None:
            found = torch.zeros(len(texts), vectors.shape[1], dtype=vectors.dtype).to(
                vectors.device
            )
        found[chosen] = vectors
    return found
