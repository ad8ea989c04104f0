"""Convert a SentencePiece unigram model to the `tokenizer.json` that the runtime reads.

Only the pieces, their scores and the normalization table are needed from the file's protobuf
message, so the few rules of the wire format are implemented here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Fields of the message, of a piece, and of the normalizer.
_PIECES, _NORMALIZER = 1, 3
_TEXT, _SCORE = 1, 2
_TABLE = 2
_UNKNOWN, _START, _END = 0, 1, 2  # the ids that the trainer assigns


def tokenizer_from_sentencepiece(data: bytes) -> bytes:
    """Return the same tokenizer as JSON, with a marker before and after each text."""
    vocabulary: list[tuple[str, float]] = []
    table = b""
    for field, value in _fields(data):
        if field == _PIECES:
            piece = dict(_fields(value))
            (score,) = struct.unpack("<f", piece.get(_SCORE, bytes(4)))
            vocabulary.append((piece[_TEXT].decode(), score))
        elif field == _NORMALIZER:
            table = dict(_fields(value))[_TABLE]
    tokenizer = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=_UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(table),
            normalizers.Strip(),
            normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    start, end = vocabulary[_START][0], vocabulary[_END][0]
    tokenizer.add_special_tokens([vocabulary[_UNKNOWN][0], start, end])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(start, _START), (end, _END)]
    )
    text: str = tokenizer.to_str()
    return text.encode()


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of each field; varint fields are skipped."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _read_varint(data, at)
            continue
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind in {_FIXED32, _FIXED64}:
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"a protobuf field cannot be of the kind {kind}")
        if at + size > len(data):
            raise ValueError("a protobuf field ends after its message")
        yield tag >> 3, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read the varint that begins here. Returns it and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
