"""Make the training data from the public repositories in `sources.toml`.

    python -m train_model.prepare REPOSITORIES DATA --against EVALUATION --tokenizer tokenizer.json

A repository that is not in REPOSITORIES yet, as `owner+name`, is fetched at its commit. A record
that shares 13 words in a row with any text in EVALUATION is left out. DATA gets shards of token
ids and `report.json`, which says what came from where.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import random
import re
import subprocess
import tomllib
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from train_model.readers import READERS, Record, clean, strings

_GRAM = 13
_BATCH = 20_000
_SHARD = 100_000  # records
_WORD = re.compile(r"\w+")
_POWERS = np.array([pow(1_000_003, power, 2**64) for power in range(_GRAM)], np.uint64)
# What is nearest to memories comes first, should the data have to be small.
_LAST = {"tasks", "markdown", "rst", "proposals", "wiki_sentences"}


def fetch_repository(name: str, commit: str, folder: Path) -> Path:
    """Return the git directory of the repository, with this commit in it."""
    place = folder / name.replace("/", "+")
    if not place.exists():
        _git(folder, "init", "--bare", "--quiet", str(place))
    if subprocess.run(
        ["git", "-C", place, "cat-file", "-e", commit], capture_output=True
    ).returncode:
        _git(place, "fetch", "--depth=1", f"https://github.com/{name}", commit)
    return place


def _git(place: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", place, *arguments], check=True, stdout=subprocess.PIPE
    ).stdout


def read_files(
    place: Path, commit: str, pattern: str, absent: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files that match. `absent` lists what a partial copy lacks."""
    listed = _git(place, "ls-tree", "-r", "-z", commit).decode().split("\0")
    wanted = [line.split("\t") for line in listed if "\t" in line]
    with subprocess.Popen(
        ["git", "-C", place, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as reader:
        assert reader.stdin
        assert reader.stdout
        for entry, path in wanted:
            if not re.search(pattern, path):
                continue
            reader.stdin.write(entry.split()[2].encode() + b"\n")
            reader.stdin.flush()
            header = reader.stdout.readline().split()
            if header[-1] == b"missing":
                absent.append(path)
                continue
            content = reader.stdout.read(int(header[2]) + 1)[:-1]
            yield path, content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        reader.stdin.close()


def is_usable(record: Record) -> bool:
    text, question = record
    if not (question or len(text) >= 12) or len(text) > 2_000 or len(question) > 300:
        return False
    letters = sum(letter.isalpha() or letter == " " for letter in text)
    return letters >= 0.75 * len(text) and f"{text}{question}".isprintable()


def read_source(source: dict[str, Any], place: Path, absent: list[str]) -> list[Record]:
    """Return the source's usable records, each once, in an order that depends on its name only."""
    chance = random.Random(source["name"])
    files = read_files(place, source["commit"], source["files"], absent)
    found = READERS[source["kind"]](files, chance)
    cleaned = (Record(clean(record.text), clean(record.question)) for record in found)
    records = list(dict.fromkeys(filter(is_usable, cleaned)))
    chance.shuffle(records)
    return records[: source.get("limit")]


# What we measure with


def grams(texts: Iterable[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return a hash of each run of 13 words, and the number of its text. A shorter text is one run,
    which only a text of the same words shares.
    """
    words, owners = [], []
    for number, text in enumerate(texts):
        hashes = [zlib.crc32(word.encode()) for word in _WORD.findall(text.lower())]
        if hashes:
            hashes += [0] * (_GRAM - len(hashes))
        words += hashes
        owners += [number] * len(hashes)
    values, numbers = np.array(words, np.uint64), np.array(owners, np.int64)
    count = max(0, len(values) - _GRAM + 1)
    runs = np.zeros(count, np.uint64)
    for at, power in enumerate(_POWERS):
        runs += (values[at : at + count] * np.uint64(2_654_435_761) + np.uint64(12_345)) * power
    inside = numbers[:count] == numbers[_GRAM - 1 :][:count]
    return runs[inside], numbers[:count][inside]


def read_evaluation(folder: Path) -> NDArray[np.uint64]:
    """Return the sorted hashes of every text in every JSON file below `folder`."""
    found = [np.zeros(0, np.uint64)]
    for path in sorted(folder.rglob("*.json*")):
        content = path.read_text(encoding="utf-8")
        parts = content.split("\n") if path.suffix == ".jsonl" else [content]
        texts = (text for part in parts if part.strip() for text in strings(json.loads(part)))
        while batch := list(islice(texts, _BATCH)):
            found.append(np.unique(grams(batch)[0]))
    return np.unique(np.concatenate(found))


def without_evaluation(records: list[Record], evaluation: NDArray[np.uint64]) -> list[Record]:
    """Return the records that share no run of words with the evaluation, in text or question."""
    shared: set[int] = set()
    for first in range(0, len(records), _BATCH):
        batch = records[first : first + _BATCH]
        runs, owners = grams(part for record in batch for part in record)
        at = np.searchsorted(evaluation, runs).clip(max=max(0, len(evaluation) - 1))
        hits = evaluation[at] == runs if len(evaluation) else np.zeros(len(runs), bool)
        shared.update((first + owners[hits] // 2).tolist())
    return [record for number, record in enumerate(records) if number not in shared]


# Shards


def _ragged(lists: list[list[int]]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    flat = np.fromiter((token for tokens in lists for token in tokens), np.uint16)
    return flat, np.array([len(tokens) for tokens in lists], np.uint16)


def _tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    return tokenizer


def make_shard(records: list[Record], tokenizers: dict[str, Tokenizer]) -> bytes:
    """Return a compressed shard: token ids of its texts and questions, end to end, their lengths,
    and for each question the number of its text, or -1. A further tokenizer's ids are only those of
    questions and of texts that answer one.
    """
    texts = {
        text: number for number, text in enumerate(dict.fromkeys(r.text for r in records if r.text))
    }
    asked = [record for record in records if record.question]
    pool = sorted({texts[record.text] for record in asked if record.text})
    shard: dict[str, NDArray[Any]] = {}
    shard["answers"] = np.array([texts.get(record.text, -1) for record in asked], np.int32)
    shard["pool"] = np.array(pool, np.int32)
    listed = list(texts)
    for name, tokenizer in tokenizers.items():
        kept = [listed[number] for number in pool] if name else listed
        for part, lines in (("texts", kept), ("questions", [record.question for record in asked])):
            ids = [encoding.ids for encoding in tokenizer.encode_batch(lines)]
            shard[f"{name}{part}"], shard[f"{name}{part}_lengths"] = _ragged(ids)
    buffer = io.BytesIO()
    np.savez(buffer, **shard)  # type: ignore[arg-type]
    return lzma.compress(buffer.getvalue(), preset=6)


def write_shards(
    chosen: list[tuple[bool, list[Record]]],
    tokenizers: dict[str, Tokenizer],
    folder: Path,
    size: int,
) -> dict[str, int]:
    """Write shards until they have `size` bytes, memory-like texts and questions first."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("shard-*.npz.xz"):
        left.unlink()
    chance = random.Random(1)
    first = [record for is_last, records in chosen for record in records if not is_last]
    asked = [record for is_last, records in chosen for record in records if is_last and all(record)]
    rest = [
        record for is_last, records in chosen for record in records if is_last and not all(record)
    ]
    for part in (first, asked, rest):
        chance.shuffle(part)
    ordered = [*first, *asked, *rest]
    written = total = 0
    for number, start in enumerate(range(0, len(ordered), _SHARD)):
        shard = make_shard(ordered[start : start + _SHARD], tokenizers)
        if total + len(shard) > size:
            break
        (folder / f"shard-{number:02}.npz.xz").write_bytes(shard)
        written += len(ordered[start : start + _SHARD])
        total += len(shard)
    return {"records found": len(ordered), "records written": written, "bytes": total}


def prepare(arguments: argparse.Namespace) -> dict[str, Any]:
    evaluation = read_evaluation(arguments.against)
    sources = tomllib.loads(arguments.sources.read_text(encoding="utf-8"))["source"]
    seen: set[Record] = set()
    chosen: list[tuple[bool, list[Record]]] = []
    report: dict[str, Any] = {"evaluation runs": len(evaluation), "sources": {}}
    for source in sources:
        absent: list[str] = []
        place = fetch_repository(source["name"], source["commit"], arguments.repositories)
        found = read_source(source, place, absent)
        kept = without_evaluation(found, evaluation)
        new = [record for record in kept if record not in seen]
        seen.update(new)
        chosen.append((source["kind"] in _LAST, new))
        report["sources"][source["name"]] = entry = {
            **{key: source[key] for key in ("commit", "licence")},
            "texts": sum(bool(record.text) for record in new),
            "questions": sum(bool(record.question) for record in new),
            "questions with a text": sum(all(record) for record in new),
            "shared with the evaluation": len(found) - len(kept),
            "files absent": len(absent),
        }
        print(source["name"], json.dumps(entry), flush=True)
    tokenizers = {"": _tokenizer(arguments.tokenizer)}
    tokenizers |= {f"{path.stem}_": _tokenizer(path) for path in arguments.further_tokenizer}
    report |= write_shards(chosen, tokenizers, arguments.data, arguments.mib << 20)
    report_file = arguments.data / "report.json"
    report_file.write_text(json.dumps(report, indent=1), encoding="utf-8", newline="\n")
    return report


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--against", type=Path, required=True, help="folder of all evaluation data")
    parser.add_argument("--tokenizer", type=Path, required=True, help="the model's tokenizer.json")
    parser.add_argument("--further-tokenizer", type=Path, nargs="*", default=[], help="of teachers")
    parser.add_argument("--sources", type=Path, default=Path(__file__).with_name("sources.toml"))
    parser.add_argument("--mib", type=int, default=60, help="largest size of all shards")
    return parser.parse_args()


if __name__ == "__main__":
    print(json.dumps(prepare(read_arguments()), indent=1))
