"""Train the student: half the layers of the first teacher, at the same width.

    python -m train_model.train DATA TEACHERS OUT --minutes 11 4 6 [--stop 9]

1. `states`: token states and pooled vectors of the first teacher, and which texts of a batch all
   teachers that read its tokens find alike.
2. `tokens`: how the first teacher orders texts for a question by its token vectors (MaxSim).
3. `pairs`: the same with near misses, and for the pooled vector the order of all teachers together
   and of the source, where the question stood with its text.

A stage ends after its minutes; OUT then has its weights as 16-bit pieces. `--stop` ends the call:
the state is saved, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import io
import lzma
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from train_model.model import (
    WORDS,
    Encoder,
    Tensor,
    Texts,
    embed,
    every_second_layer,
    load_teacher,
    to_tensors,
)
from train_model.weights import Weights, load_pieces, save_pieces

STAGES = ("states", "tokens", "pairs")
_RATES = {"states": 6e-4, "tokens": 2e-4, "pairs": 2e-4}
_LONGEST, _LONGEST_QUESTION = 256, 48
_SAVE_SECONDS = 120.0
_SCALE = "log_scale."  # learned with the weights, and no part of them
# Weights of the teachers' orders in the pooled vector's; each order in standard deviations.
_POOLED, _MAXSIM, _FURTHER = 0.5, 2.0, 0.75
_SHARPNESS, _SOURCE = 2.5, 0.4
_NEAR_MISSES, _OF_THEM = 48, 3
_PLAUSIBLE = 3_000  # a source that so many texts are nearer than did not answer the question


class Stopped(Exception):
    """The call's time is over, and the state saved."""


@dataclass
class Data:
    """All texts and questions; and the questions that have a text, with the texts they have."""

    everything: Texts
    answers: Tensor
    pools: dict[str, Texts]
    questions: dict[str, Texts]


def _pick(flat: np.ndarray, lengths: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, Any]:
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    counts = lengths[chosen].astype(np.int64)
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return flat[np.repeat(starts[chosen], counts) + inside], counts


def load_data(folder: Path, prefixes: list[str], device: str) -> Data:
    columns: dict[str, list[np.ndarray]] = {}

    def add(name: str, flat: np.ndarray, lengths: np.ndarray) -> None:
        columns.setdefault(name, []).append(flat)
        columns.setdefault(f"{name} lengths", []).append(lengths)

    answers, pool_size = [], 0
    for path in sorted(folder.glob("shard-*.npz.xz")):
        with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as shard:
            has_text = np.flatnonzero(shard["answers"] >= 0)
            pool = shard["pool"]
            answers.append(np.searchsorted(pool, shard["answers"][has_text]) + pool_size)
            pool_size += len(pool)
            for part in ("texts", "questions"):
                add("all", shard[part], shard[f"{part}_lengths"])
            for prefix in prefixes:
                names = [f"{prefix}{part}" for part in ("texts", "questions")]
                read = [(shard[name], shard[f"{name}_lengths"]) for name in names]
                add(f"{prefix}pool", *(_pick(*read[0], pool) if not prefix else read[0]))
                add(f"{prefix}questions", *_pick(*read[1], has_text))

    def texts(name: str) -> Texts:
        return Texts.of(columns[name], columns[f"{name} lengths"], device)

    return Data(
        texts("all"),
        torch.from_numpy(np.concatenate(answers)).to(device),
        {prefix: texts(f"{prefix}pool") for prefix in prefixes},
        {prefix: texts(f"{prefix}questions") for prefix in prefixes},
    )


# Losses


def _error(learned: Tensor, taught: Tensor, seen: Tensor) -> Tensor:
    """Return the squared error over real tokens, in units of the teacher's variance."""
    count = seen.sum() * taught.shape[-1]
    taught = taught.float()
    with torch.no_grad():
        mean = (taught * seen).sum((0, 1)) / seen.sum()
        variance = ((taught - mean) ** 2 * seen).sum() / count
    return ((learned.float() - taught) ** 2 * seen).sum() / (count * variance)


def state_loss(learned: Tensor, taught: Tensor, mask: Tensor) -> Tensor:
    seen = mask[..., None].float()
    angle = 1 - functional.cosine_similarity(learned.float(), taught.float(), dim=-1)
    return _error(learned, taught, seen) + 2 * (angle * mask).sum() / mask.sum()


def order_loss(learned: Tensor, wanted: Tensor) -> Tensor:
    """Return how far the learned order, as a distribution over texts, is from the wanted one."""
    learned, wanted = (functional.log_softmax(scores.float(), 1) for scores in (learned, wanted))
    return functional.kl_div(learned, wanted, log_target=True, reduction="batchmean")


def standardize(scores: Tensor) -> Tensor:
    scores = scores.float()
    return (scores - scores.mean(1, keepdim=True)) / (scores.std(1, keepdim=True) + 1e-6)


def max_sim(question: Tensor, shares: Tensor, texts: Tensor) -> Tensor:
    """Score texts by the nearest token to each of the question's, weighted by its share.

    Token vectors are unit vectors; a text's tokens that do not count are zero.
    """
    asked, width, size = question.shape
    count, length, _ = texts.shape
    near = question.reshape(-1, size) @ texts.reshape(-1, size).T
    best = near.view(asked * width, count, length).amax(-1).view(asked, width, count)
    return (best.float() * shares[..., None]).sum(1)


Loss = Callable[[Encoder, dict[str, Tensor], float], Tensor]


class Trainer:
    """The data, the teachers, and a loss for each stage."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.kind = torch.bfloat16 if self.device == "cuda" else torch.float32
        self.arguments = arguments
        self.out: Path = arguments.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.stop = time.monotonic() + 60 * arguments.stop
        folder, names = arguments.teachers, arguments.names
        present = [name for name in names if (folder / f"{name}.json").exists()]
        if present[:1] != names[:1]:
            raise SystemExit(f"{folder} lacks the first teacher, {names[0]}")
        self.teachers = {n: load_teacher(folder, n, self.device, self.kind) for n in present}
        self.first = self.teachers[present[0]]
        prefixes = sorted({teacher.tokens for teacher in self.teachers.values()})
        self.data = load_data(arguments.data, prefixes, self.device)
        self.order = torch.Generator().manual_seed(arguments.seed)
        print(
            f"{len(self.data.everything)} texts of {len(self.data.everything.flat)} tokens, "
            f"{len(self.data.answers)} pairs, teachers {', '.join(present)}, {self.device}",
            flush=True,
        )

    def vectors(self, name: str, part: str, texts: Texts) -> Tensor:
        """Return a teacher's vectors, from the last call if it computed them."""
        path = self.out / f"vectors-{name}-{part}.pt"
        if not path.exists():
            started = time.monotonic()
            found = embed(self.teachers[name], texts, _LONGEST, 2 * self.arguments.tokens)
            torch.save(found.cpu(), path.with_suffix(".part"))
            path.with_suffix(".part").rename(path)
            print(f"{name} {part}: {time.monotonic() - started:.0f} s", flush=True)
        return torch.load(path, map_location=self.device)

    def run(self) -> None:
        weights: Weights = {}
        for name, minutes in zip(STAGES, self.arguments.minutes, strict=True):
            if not (self.out / f"{name}-0.npz").exists():
                if not weights:
                    first = self.arguments.names[0]
                    weights = every_second_layer(load_pieces(self.arguments.teachers, first))
                loss = self.learn_states() if name == "states" else self.learn_order(name)
                save_pieces(self.out, name, self.train(name, weights, loss, 60 * minutes))
            weights = load_pieces(self.out, name)

    def train(self, name: str, weights: Weights, loss: Loss, seconds: float) -> Weights:
        """Minimize the loss for so many seconds, over all calls."""
        parameters = to_tensors(weights, self.device, torch.float32)
        parameters |= {
            f"{_SCALE}{part}": torch.tensor(math.log(45.0)).to(self.device) for part in "mp"
        }
        for parameter in parameters.values():
            parameter.requires_grad_()
        groups = [
            {
                "params": [p for p in parameters.values() if (p.ndim > 1) is decays],
                "weight_decay": rate,
            }
            for decays, rate in ((True, 0.01), (False, 0.0))
        ]
        optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-7)
        path, step, before = self.out / f"{name}.state", 0, 0.0
        if path.exists():
            state = torch.load(path, map_location=self.device)
            step, before = state["step"], state["seconds"]
            optimizer.load_state_dict(state["optimizer"])
            with torch.no_grad():
                for key, parameter in parameters.items():
                    parameter.copy_(state["parameters"][key])
        self.order.manual_seed(self.arguments.seed + step)
        torch.manual_seed(self.arguments.seed + step)
        started = saved = shown = time.monotonic()
        total = torch.zeros((), device=self.device)
        while (spent := before + time.monotonic() - started) < seconds:
            now = time.monotonic()
            if now > min(self.stop, saved + _SAVE_SECONDS):
                state = {"parameters": parameters, "optimizer": optimizer.state_dict()}
                self._save(path, {"step": step, "seconds": spent, **state})
                saved = time.monotonic()
                if now > self.stop:
                    raise Stopped
            share = spent / seconds
            student = Encoder(
                {
                    key: value.to(self.kind)
                    for key, value in parameters.items()
                    if _SCALE not in key
                },
                **{key: getattr(self.first, key) for key in ("heads", "epsilon", "pooling", "end")},
            )
            value = loss(student, {p: parameters[f"{_SCALE}{p}"].exp() for p in "mp"}, share)
            value.backward()
            torch.nn.utils.clip_grad_norm_(
                [p for p in parameters.values() if p.grad is not None], 1.0
            )
            step += 1
            rate = 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * share))
            for group in optimizer.param_groups:
                group["lr"] = _RATES[name] * rate * min(1.0, step / 300)
            optimizer.step()
            optimizer.zero_grad()
            total += value.detach()
            if now > shown + 20:
                print(f"{name} {share:.2f} step {step} loss {float(value):.4f}", flush=True)
                shown = now
        print(f"{name}: {step} steps", flush=True)
        path.unlink(missing_ok=True)
        return {
            key: value.detach().cpu().numpy()
            for key, value in parameters.items()
            if _SCALE not in key
        }

    def _save(self, path: Path, state: dict[str, Any]) -> None:
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)

    # Stage 1

    def learn_states(self) -> Loss:
        texts, first = self.data.everything, self.first
        others = [
            n for n, teacher in self.teachers.items() if teacher is not first and not teacher.tokens
        ]
        further = [self.vectors(name, "everything", texts) for name in others]

        def batches() -> Any:  # noqa: ANN401
            while True:
                yield from texts.batches(self.arguments.tokens, _LONGEST, self.order)

        supply = batches()

        def loss(student: Encoder, _scales: dict[str, Tensor], share: float) -> Tensor:
            chosen = next(supply)
            ids, mask = texts.batch(chosen, _LONGEST, first.padding, first.end)
            with torch.no_grad():
                taught = first.states(ids, mask)
            learned = student.states(ids, mask)
            value = state_loss(learned[-1], taught[-1], mask)
            seen, early = mask[..., None].float(), max(0.0, 0.5 - share)
            inner = range(2, student.layers, 2)
            for layer in inner if early else ():
                value = value + early * _error(learned[layer], taught[2 * layer], seen) / len(inner)
            mine, theirs = first.pool(learned[-1], mask), first.pool(taught[-1], mask)
            value = value + 10 * (1 - (mine * theirs).sum(1)).mean()
            return value + alike(mine[:1024], theirs[:1024], chosen[:1024])

        def alike(mine: Tensor, theirs: Tensor, chosen: Tensor) -> Tensor:
            """Compare which texts are alike, in the first teacher's units of likeness."""
            if len(mine) < 3:
                return mine.sum() * 0
            apart = ~torch.eye(len(mine), device=self.device, dtype=torch.bool)

            def rows(vectors: Tensor) -> Tensor:
                return (vectors @ vectors.T)[apart].view(len(vectors), -1)

            wanted = rows(theirs)
            mean, spread = wanted.mean(), wanted.std()
            for vectors in further:
                other = rows(vectors[chosen].float())
                wanted = wanted + 0.35 * ((other - other.mean()) / other.std() * spread + mean)
            wanted = wanted / (1 + 0.35 * len(further))
            return order_loss(rows(mine) / 0.02, wanted / 0.02)

        return loss

    # Stages 2 and 3

    def learn_order(self, stage: str) -> Loss:
        data, first = self.data, self.first
        pool, questions = data.pools[""], data.questions[""]
        vectors = {
            name: (
                self.vectors(name, "pool", data.pools[teacher.tokens]),
                self.vectors(name, "questions", data.questions[teacher.tokens]),
            )
            for name, teacher in self.teachers.items()
        }
        ranks, misses = self._mine(list(vectors.values()))
        usable = (ranks < _PLAUSIBLE).nonzero()[:, 0]
        bonus = torch.where(ranks < 20, _SOURCE, _SOURCE / 2)
        seen_in = torch.bincount(pool.flat.long(), minlength=len(first.weights[WORDS])).float()
        rarity = torch.log(1 + len(pool) / (seen_in + 0.5)).clamp(min=0.05)
        print(f"{len(usable)} of {len(ranks)} pairs are plausible", flush=True)

        def unit(states: Tensor, counted: Tensor) -> Tensor:
            return (functional.normalize(states.float(), dim=-1) * counted[..., None]).to(self.kind)

        def inner(ids: Tensor, mask: Tensor) -> Tensor:
            return mask & (ids != first.end) & (torch.arange(ids.shape[1], device=ids.device) > 0)

        def choose() -> tuple[Tensor, Tensor, Tensor]:
            """Return questions, texts in order of length, and where each question's text is."""
            asked = usable[
                torch.randint(len(usable), (self.arguments.questions,), device=self.device)
            ]
            right = data.answers[asked]
            if stage == "pairs":
                at = torch.randint(misses.shape[1], (len(asked), _OF_THEM), device=self.device)
                others = misses[asked].gather(1, at).reshape(-1)
            else:
                others = torch.randint(len(pool), (len(asked) * _OF_THEM,), device=self.device)
            texts = torch.cat([right, others]).unique()
            order = torch.argsort(pool.lengths[texts])
            return asked, texts[order], torch.argsort(order)[torch.searchsorted(texts, right)]

        def loss(student: Encoder, scales: dict[str, Tensor], _share: float) -> Tensor:
            asked, texts, right = choose()
            ids, mask = questions.batch(asked, _LONGEST_QUESTION, first.padding, first.end)
            shares = rarity[ids] * inner(ids, mask)
            shares = shares / shares.sum(1, keepdim=True).clamp(min=1e-6)
            with torch.no_grad():
                taught = first.states(ids, mask)[-1]
            learned = student.states(ids, mask)[-1]
            anchor = state_loss(learned, taught, mask)
            asked_of = [unit(states, inner(ids, mask)) for states in (taught, learned)]
            vector = first.pool(learned, mask)
            by_teacher, by_tokens, by_vector = [], [], []
            chunks = texts.chunk(4)
            for chunk in chunks:
                ids, mask = pool.batch(chunk, 128, first.padding, first.end)
                counted = inner(ids, mask)
                with torch.no_grad():
                    taught = first.states(ids, mask)[-1]
                    by_teacher.append(max_sim(asked_of[0], shares, unit(taught, counted)))
                learned = student.states(ids, mask)[-1]
                by_tokens.append(max_sim(asked_of[1], shares, unit(learned, counted)))
                by_vector.append(vector @ first.pool(learned, mask).T)
                anchor = anchor + state_loss(learned, taught, mask) / len(chunks)
            wanted = standardize(torch.cat(by_teacher, 1))
            value = anchor / 2 + order_loss(
                torch.cat(by_tokens, 1) * scales["m"], _SHARPNESS * wanted
            )
            if stage == "tokens":
                return value
            wanted = _MAXSIM * wanted
            for number, (of_pool, of_questions) in enumerate(vectors.values()):
                scores = of_questions[asked].float() @ of_pool[texts].float().T
                wanted = wanted + (_FURTHER if number else _POOLED) * standardize(scores)
            wanted = wanted / (_MAXSIM + _POOLED + _FURTHER * (len(vectors) - 1))
            wanted[torch.arange(len(asked), device=self.device), right] += bonus[asked]
            return value + order_loss(torch.cat(by_vector, 1) * scales["p"], _SHARPNESS * wanted)

        return loss

    def _mine(self, vectors: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """Return how many texts are nearer to a question than its own, and the nearest others."""
        middles = [of_pool.float().mean(0) for of_pool, _ in vectors]
        sides = [
            torch.cat(
                [
                    functional.normalize(pair[side].float() - middle, dim=-1).to(self.kind)
                    for pair, middle in zip(vectors, middles, strict=True)
                ],
                1,
            )
            for side in (0, 1)
        ]
        ranks, misses = [], []
        for first in range(0, len(sides[1]), 2048):
            scores = sides[1][first : first + 2048] @ sides[0].T
            right = self.data.answers[first : first + 2048, None]
            ranks.append((scores > scores.gather(1, right)).sum(1))
            scores.scatter_(1, right, -9.0)
            misses.append(scores.topk(min(_NEAR_MISSES, scores.shape[1] - 1), 1).indices)
        return torch.cat(ranks), torch.cat(misses)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("teachers", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--names", nargs="+", default=["gte-small", "mpnet", "granite-30m"])
    parser.add_argument("--minutes", nargs=3, type=float, default=[11.0, 4.0, 6.0])
    parser.add_argument("--stop", type=float, default=math.inf, help="minutes of this call")
    parser.add_argument("--tokens", type=int, default=65_536, help="in a batch of the first stage")
    parser.add_argument("--questions", type=int, default=512, help="in a batch of the others")
    parser.add_argument("--seed", type=int, default=1)
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        Trainer(parser.parse_args()).run()
    except Stopped:
        print("stopped; the same command goes on", flush=True)


if __name__ == "__main__":
    main()
