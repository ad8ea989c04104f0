"""Convert data sets from their published formats to the layout of `datasets.py`.

Public sets may not be copied into this repository, so users fetch the published file and convert
it; the same file always gives the same set, byte for byte. Code for each format is in `locomo.py`
and `longmemeval.py`; what they share is here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from recollect.core.errors import InvalidInput
from recollect_bench.data.datasets import (
    CORPUS,
    FILES,
    HEADER,
    PAIR_HEADERS,
    QRELS,
    QUERIES,
    SUPERSEDES,
    Document,
    Pair,
    Question,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as published: with its answer, and the ids of the documents that contain it."""

    question: Question
    answer: str | int | None
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Converted:
    """`left_out` counts the questions that no document answers: they cannot be measured.
    `supersedes` pairs documents with those they replace.
    """

    documents: tuple[Document, ...]
    asked: tuple[Asked, ...]
    left_out: int
    supersedes: tuple[Pair, ...] = ()

    @classmethod
    def of(
        cls,
        documents: Mapping[str, Document],
        asked: Sequence[Asked],
        supersedes: Iterable[Pair] = (),
    ) -> Converted:
        answerable = tuple(labelled for labelled in asked if labelled.gold)
        left_out = len(asked) - len(answerable)
        return cls(tuple(documents.values()), answerable, left_out, tuple(supersedes))

    @property
    def labels(self) -> int:
        return sum(len(labelled.gold) for labelled in self.asked)


def read_published(file: Path, shape: type[T], name: str) -> T:
    """Read the published file in its own format; raise InvalidInput that says where it differs."""
    try:
        return TypeAdapter(shape).validate_json(file.read_bytes())
    except OSError as error:
        raise InvalidInput(
            f"cannot read {file}: {error.strerror}",
            field="file",
            remedy=f"Pass the file published by the authors of {name}.",
        ) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidInput(
            f"{file} is not the published {name}: {place + ': ' if place else ''}{first['msg']}",
            field="file",
            remedy=f"Use the JSON file of {name} as published, unchanged.",
        ) from error


def check_target(folder: Path, *, force: bool) -> None:
    """Check that the set may be written here, before the work is done."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(
            f"{folder} is a file", field="out", remedy="Pass a directory for the set's files."
        )
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise InvalidInput(
            f"{folder} is not empty",
            field="out",
            remedy="Choose another directory, or replace the set with --force.",
        )


def contents(converted: Converted) -> dict[str, str]:
    """Return the text of each of the set's files."""
    asked = converted.asked
    labels = [(labelled.question.id, document) for labelled in asked for document in labelled.gold]
    lines: dict[str, Iterable[str]] = {
        CORPUS: map(_json, map(_document, converted.documents)),
        QUERIES: map(_json, map(_question, asked)),
        QRELS: ("\t".join(row) for row in [HEADER, *((*label, "1") for label in labels)]),
    }
    if converted.supersedes:
        pairs = [PAIR_HEADERS[SUPERSEDES], *converted.supersedes]
        lines[SUPERSEDES] = ("\t".join(pair) for pair in pairs)
    return {name: "".join(f"{line}\n" for line in found) for name, found in lines.items()}


def write_set(converted: Converted, folder: Path, *, force: bool = False) -> None:
    """Write the set's files. Other files in the folder are left alone."""
    check_target(folder, force=force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A folder is a set only if it has all three files: one that was half replaced must not look
        # like a set.
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        for name, text in contents(converted).items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InvalidInput(
            f"cannot write {folder}: {error.strerror}",
            field="out",
            remedy="Choose a writable directory on a disk with free space.",
        ) from error


def _document(document: Document) -> dict[str, Any]:
    fields = {"_id": document.id, "title": document.title, "text": document.text}
    return {**fields, **_drop_none(scope=document.scope, time=document.time)}


def _question(asked: Asked) -> dict[str, Any]:
    question = asked.question
    return {
        "_id": question.id,
        "text": question.text,
        **_drop_none(scope=question.scope),
        "stratum": question.stratum,
        **_drop_none(answer=asked.answer, time=question.time),
    }


def _drop_none(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _json(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False)
