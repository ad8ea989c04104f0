"""The recipe of our embedding model, from a repository of texts to a folder that loads."""

from __future__ import annotations

import io
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from train_model.prepare import (
    is_usable,
    make_shard,
    read_evaluation,
    read_source,
    without_evaluation,
)
from train_model.readers import Record, clean, third_person
from train_model.teachers import same_ids
from train_model.weights import Weights, load_pieces, save_pieces

from recollect.adapters.models.embedders.local_runtime import Encoder, Reading

TOOLS = Path(__file__).parents[2] / "tools"
LONG = "the ferry to the northern island leaves at seven each morning from the old pier near us"
PEOPLE = ["Mara", "Tom", "Ines", "Karl", "Rosa", "Hugo", "Nadia", "Felix"]
THINGS = ["green tea", "long walks", "old maps", "the night train", "rye bread", "chess"]
PAGES = "\r\n".join(
    f"# What {person} says about {thing}\r\n\r\n{person} told us that {thing} is what they would "
    f"choose on day {number}.\rThey never change their mind about it, and we noted the reason.\r\n"
    for number, person in enumerate(PEOPLE)
    for thing in THINGS
)


def test_a_record_that_shares_thirteen_words_with_the_evaluation_is_left_out(
    tmp_path: Path,
) -> None:
    (tmp_path / "set").mkdir()
    lines = [{"_id": "1", "text": f"We know: {LONG}."}, {"_id": "2", "text": "Where is Tom's key?"}]
    corpus = "\n".join(map(json.dumps, lines))
    (tmp_path / "set" / "corpus.jsonl").write_text(corpus)
    nested = {"talks": [{"turns": ["Twelve other words, " + LONG.replace("seven", "eight")]}]}
    (tmp_path / "raw.json").write_text(json.dumps(nested))
    twelve = " ".join(LONG.split()[:12])
    kept = [
        Record(f"{twelve} and back"),
        Record("A text of its own.", "A question?"),
        Record("Where is Tom's key? It hangs by the door."),
    ]
    shared = [
        Record(f"He said that {LONG.upper()}!"),
        Record("It is there.", f"Is it true that {LONG}?"),
        Record(f"{LONG.replace('seven', 'eight')} as well"),
        Record("", "where is tom's key"),
    ]

    found = without_evaluation([*shared[:2], *kept, *shared[2:]], read_evaluation(tmp_path))

    assert found == kept


def test_nothing_to_measure_with_leaves_everything(tmp_path: Path) -> None:
    records = [Record("A text of its own.", "A question?")]
    assert without_evaluation(records, read_evaluation(tmp_path)) == records


def test_a_record_is_one_line_whatever_ends_its_lines(tmp_path: Path) -> None:
    source, place = make_repository(tmp_path)
    records = read_source(source, place, [])
    assert len(records) > len(PEOPLE)
    for record in records:
        assert is_usable(record)
        assert record == Record(*map(clean, record))
        assert not set("\r\n\t\v\f\x85\u2028") & set("".join(record))
    assert {record.question for record in records if record.question} >= {
        "What Mara says about green tea"
    }
    assert records == read_source(source, place, [])  # seeded


def test_what_a_partial_copy_lacks_is_reported(tmp_path: Path) -> None:
    source, place = make_repository(tmp_path)
    blob = git(place, "rev-parse", f"{source['commit']}:docs/pages.md")
    (place / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    absent: list[str] = []
    assert read_source(source, place, absent) == []
    assert absent == ["docs/pages.md"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I'm a nurse.", "Rosa is a nurse."),
        ("I have two dogs.", "Rosa has two dogs."),
        ("I like my job.", "Rosa likes their job."),
        ("I can't swim.", "Rosa can't swim."),
        ("I don't eat meat.", "Rosa does not eat meat."),
        ("My sister calls me daily.", "Rosa's sister calls them daily."),
    ],
)
def test_what_somebody_says_of_themselves_becomes_a_fact_about_them(said: str, told: str) -> None:
    assert third_person(said, "Rosa") == told


def test_a_shard_has_the_ids_of_texts_and_of_questions_with_their_answers() -> None:
    records = [Record("rye bread", "what bread"), Record("chess"), Record("", "what maps")]
    tokenizer = make_tokenizer()
    shard = np.load(
        io.BytesIO(lzma.decompress(make_shard(records, {"": tokenizer, "b_": tokenizer})))
    )
    assert shard["texts"].dtype == np.uint16
    assert shard["texts"].tolist() == [
        *tokenizer.encode("rye bread").ids,
        *tokenizer.encode("chess").ids,
    ]
    assert shard["texts_lengths"].tolist() == [4, 3]
    assert shard["answers"].tolist() == [0, -1]
    assert shard["pool"].tolist() == [0]
    assert shard["b_texts"].tolist() == tokenizer.encode("rye bread").ids


def test_a_teacher_reads_the_ids_of_the_first_ones_tokenizer() -> None:
    like = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "tea": 3, "rare": 4}
    own = {"<s>": 0, "<pad>": 1, "[UNK]": 2, "[CLS]": 3, "tea": 4}
    rows = np.arange(10).reshape(5, 2)
    assert same_ids(rows, own, like)[:, 0].tolist() == [2, 4, 0, 8, 4]
    assert same_ids(rows, like, like).tolist() == rows.tolist()


@pytest.mark.parametrize(("in_bytes", "error"), [(False, 1e-3), (True, 1e-2)])
def test_pieces_of_weights_are_small_and_come_back_whole(
    tmp_path: Path, in_bytes: bool, error: float
) -> None:
    chance = np.random.default_rng(1)
    weights = {
        "words": chance.uniform(-1, 1, (30_522, 300)).astype(np.float32),
        "norm": chance.uniform(-1, 1, 300).astype(np.float32),
    }
    save_pieces(tmp_path, "student", weights, in_bytes=in_bytes)
    pieces = sorted(tmp_path.iterdir())
    assert len(pieces) > 1 or in_bytes
    assert all(piece.stat().st_size < 16 << 20 for piece in pieces)
    read = load_pieces(tmp_path, "student")
    assert read.keys() == weights.keys()
    for name, array in weights.items():
        assert np.abs(read[name] - array).max() < error


def test_the_recipe_runs_from_a_repository_to_a_model_that_recollect_loads(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch, which is no dependency")
    source, place = make_repository(tmp_path / "repositories")
    teachers, data, trained = tmp_path / "teachers", tmp_path / "data", tmp_path / "trained"
    make_teachers(teachers)
    (tmp_path / "evaluation").mkdir()
    entry = "\n".join(f"{key} = {json.dumps(value)}" for key, value in source.items())
    (tmp_path / "sources.toml").write_text(f"[[source]]\n{entry}\n")
    run(
        *("prepare", place.parent, data, "--against", tmp_path / "evaluation"),
        *("--sources", tmp_path / "sources.toml", "--tokenizer", teachers / "first-tokenizer.json"),
        *("--further-tokenizer", teachers / "third-tokenizer.json"),
    )
    train: list[object] = ["train", data, teachers, trained, "--names", "first", "second", "third"]
    train += ["--minutes", "0.15", "0.04", "0.04", "--tokens", "512", "--questions", "8"]

    assert "stopped" in run(*train, "--stop", "0.05")
    assert (trained / "states.state").exists()
    told = run(*train)
    assert [line.split(":")[0] for line in told.splitlines() if line.endswith("steps")] == [
        "states",
        "tokens",
        "pairs",
    ]
    assert "steps" not in run(*train)  # all is done
    run("export", trained, teachers, tmp_path / "model", "--teacher", "first")

    assert agreement(tmp_path, load_pieces(trained, "states")) > 0.8
    encoder = Encoder(tmp_path / "model", Reading(32, "mean"))
    vectors = np.array([encoder.encode(text) for text in ("Mara told us", "rye bread is what")])
    assert vectors.shape == (2, 16)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)


def agreement(folder: Path, weights: Weights) -> float:
    """Return the mean cosine of the student's and the teacher's vectors of the training texts."""
    import torch
    from train_model.model import Texts, embed, load_teacher, to_tensors

    teacher = load_teacher(folder / "teachers", "first", "cpu", torch.float32)
    student = load_teacher(folder / "teachers", "first", "cpu", torch.float32)
    student.weights = to_tensors(weights, "cpu", torch.float32)
    shard = np.load(io.BytesIO(lzma.decompress((folder / "data/shard-00.npz.xz").read_bytes())))
    texts = Texts.of([shard["texts"]], [shard["texts_lengths"]], "cpu")
    return float((embed(teacher, texts, 64) * embed(student, texts, 64)).sum(1).float().mean())


def run(module: object, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", f"train_model.{module}", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TOOLS), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def git(place: Path, *arguments: str) -> str:
    command = ["git", "-C", str(place), "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def make_repository(folder: Path) -> tuple[dict[str, str], Path]:
    place = folder / "people+notes"
    (place / "docs").mkdir(parents=True)
    (place / "docs" / "pages.md").write_bytes(PAGES.encode())
    (place / "unread.txt").write_text("Not among the files of the source.")
    git(place, "init", "--quiet")
    git(place, "-c", "core.autocrlf=false", "add", ".")
    git(place, "commit", "--quiet", "--message", "notes")
    source = {"name": "people/notes", "commit": git(place, "rev-parse", "HEAD")}
    return {**source, "licence": "CC0-1.0", "kind": "markdown", "files": r"\.md$"}, place


def make_tokenizer() -> Tokenizer:
    words = sorted({word for word in clean(PAGES).lower().split() if word.isalpha()} | {"maps"})
    ids = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(name, ids[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    return tokenizer


def make_teachers(folder: Path) -> None:
    """Write three networks of chance: as `gte-small`, as `mpnet` and as `granite-30m` are read."""
    folder.mkdir()
    tokenizer = make_tokenizer()
    size = tokenizer.get_vocab_size()
    for name, width, layers in (("first", 16, 4), ("second", 24, 2), ("third", 16, 2)):
        weights = make_weights(size, width, layers)
        if name == "second":
            weights["distances"] = np.random.default_rng(3).normal(size=(2, 127)).astype(np.float32)
        save_pieces(folder, name, weights, in_bytes=True)
        is_third = name == "third"
        settings = {"heads": 2, "epsilon": 1e-12, "pooling": "cls" if is_third else "mean"}
        settings |= {"tokens": "third-tokenizer_" if is_third else "", "padding": 0, "end": 3}
        (folder / f"{name}.json").write_text(json.dumps(settings))
        tokenizer.save(str(folder / f"{name}-tokenizer.json"))


def make_weights(words: int, width: int, layers: int) -> Weights:
    chance = np.random.default_rng(2)
    shapes = {"embeddings.word_embeddings": (words, width)}
    shapes["embeddings.position_embeddings"] = (64, width)
    linear = {"intermediate.dense": (2 * width, width), "output.dense": (width, 2 * width)}
    for part in ("self.query", "self.key", "self.value", "output.dense"):
        linear[f"attention.{part}"] = (width, width)
    norms = ["embeddings.LayerNorm"]
    for number in range(layers):
        prefix = f"encoder.layer.{number}"
        shapes |= {f"{prefix}.{name}": shape for name, shape in linear.items()}
        norms += [f"{prefix}.attention.output.LayerNorm", f"{prefix}.output.LayerNorm"]
    weights = {f"{n}.weight": chance.normal(0, 0.3, shape) for n, shape in shapes.items()}
    weights |= {f"{n}.bias": np.zeros(s[0]) for n, s in shapes.items() if n.startswith("encoder")}
    weights |= {f"{name}.weight": np.ones(width) for name in norms}
    weights |= {f"{name}.bias": np.zeros(width) for name in norms}
    return {name: array.astype(np.float32) for name, array in weights.items()}
