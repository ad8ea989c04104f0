"""Many memories in one request, and the outcome for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic import ConfigDict, Field, ValidationError

from recollect.core.errors import InvalidInput
from recollect.core.memory.batch import MAX_BATCH, BatchItem, Outcome, Remembered
from recollect.core.memory.memory import Draft
from recollect.core.privacy.sensitivity import secret_in_draft
from recollect.wire.inputs import DraftIn
from recollect.wire.problems import Problem
from recollect.wire.refusals import refusal
from recollect.wire.values import Input, Shape
from recollect.wire.writes import SecretOut


def read_draft(values: object) -> Draft:
    """Read a draft; or InvalidInput."""
    try:
        return DraftIn.model_validate(values).to_draft()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise refusal(first, first["loc"] or ("memory",)) from error


def read_item(values: object) -> BatchItem:
    """Read a draft, or the reason why it is invalid."""
    try:
        return read_draft(values)
    except InvalidInput as error:
        return error


class BatchIn(Input):
    """Memories to store together. Each is checked separately: an invalid one is refused, and the
    others are stored.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "memories": [
                        {"content": "Nadia prefers small pull requests.", "category": "preference"},
                        {"content": "Releases go out on Tuesdays.", "tags": ["release"]},
                    ]
                }
            ]
        }
    )

    memories: list[dict[str, Any]] = Field(
        description="In the order they were said. With your own ids, repeating the request is "
        "safe.",
        json_schema_extra={"maxItems": MAX_BATCH},
    )

    def to_batch(self) -> list[BatchItem]:
        return [read_item(memory) for memory in self.memories]


def _is_absent(value: object) -> bool:
    return value is None


class BatchItemOut(Shape):
    """The outcome for one memory. stored: it is durably stored; present: the same memory was
    already stored, and `id` is its id; refused: `problem` says why, and what to do.
    `sensitive_because` is set if its text made it sensitive.
    """

    id: UUID | None
    outcome: Outcome
    problem: Problem | None = Field(default=None, exclude_if=_is_absent)
    sensitive_because: SecretOut | None = Field(default=None, exclude_if=_is_absent)

    @classmethod
    def from_result(cls, result: Remembered) -> BatchItemOut:
        secret = result.secret
        return cls(
            id=result.id,
            outcome=result.outcome,
            problem=None if result.error is None else Problem.from_error(result.error),
            sensitive_because=None
            if secret is None
            else SecretOut(kind=secret.kind, confidence=secret.confidence),
        )

    def to_result(self, draft: Draft) -> Remembered:
        """The result for `draft`, whose text says why it is sensitive."""
        if self.problem is not None:
            return Remembered(self.id, self.outcome, self.problem.to_error())
        secret = None if self.sensitive_because is None else secret_in_draft(draft)
        return Remembered(self.id, self.outcome, secret=secret)


class BatchOut(Shape):
    """One result for each memory, in the order sent, and the count of each outcome."""

    stored: int
    present: int
    refused: int
    results: list[BatchItemOut]

    @classmethod
    def from_results(cls, results: Sequence[Remembered]) -> BatchOut:
        counts = Counter(result.outcome for result in results)
        return cls(
            stored=counts["stored"],
            present=counts["present"],
            refused=counts["refused"],
            results=[BatchItemOut.from_result(result) for result in results],
        )
