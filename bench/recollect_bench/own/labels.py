"""The private evaluation set: its questions, their review states, and the file that stores them.

    proposed    not reviewed
    taken       not reviewed, and accepted unseen (`--yes`)
    confirmed   kept, edited or written by a person
    struck      rejected by a person; it is not proposed again, and its text is not stored

Only this file contains text. When a memory is forgotten, changed or made sensitive, its questions
are removed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Literal, get_args

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Memory
from recollect_bench.own.private import write_private
from recollect_bench.own.questions import Proposal, propose_questions
from recollect_bench.own.words import OWN_STRATA, OwnStratum, OwnWords

State = Literal["proposed", "taken", "confirmed", "struck"]
FILE: Final = "questions.json"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Label:
    """A question with the memories that answer it: their ids, and digests of their contents."""

    id: str
    stratum: OwnStratum
    text: str
    gold: Mapping[str, str]
    state: State = "proposed"

    @property
    def counts(self) -> bool:
        """Whether the question is used to compare configurations."""
        return self.state in ("taken", "confirmed")


Judge = Callable[[Label, int, int], Label | None]
"""Returns the judged label, given its number and the total; None to stop."""


def read_labels(folder: Path) -> list[Label]:
    file = folder / FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["format"] != _FORMAT:
            raise _unusable_error(file)
        return [_check(Label(**label)) for label in found["questions"]]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unusable_error(file) from error


def write_labels(folder: Path, labels: Sequence[Label]) -> None:
    document = {"format": _FORMAT, "questions": [asdict(label) for label in labels]}
    write_private(folder / FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def read_current_labels(folder: Path, memories: Mapping[str, Memory]) -> list[Label]:
    """Read the labels whose memories take part and are unchanged; remove the others."""
    labels = read_labels(folder)
    kept = [label for label in labels if _is_current(label, memories)]
    if len(kept) < len(labels):
        write_labels(folder, kept)
    return kept


def top_up(
    labels: Sequence[Label], own: OwnWords, per_stratum: int, seed: int, *, ask: bool
) -> list[Label]:
    """Add proposals until each stratum has `per_stratum` questions."""
    kept = [label for label in labels if ask or label.text or label.state == "struck"]
    have = Counter(label.stratum for label in kept if label.state != "struck")
    missing: dict[OwnStratum, int] = {name: per_stratum - have[name] for name in OWN_STRATA}
    known = frozenset(label.id for label in kept)
    added = propose_questions(own, missing, seed, known, ask=ask)
    return [*kept, *(_to_label(proposal, own) for proposal in added)]


def judge_labels(
    labels: Sequence[Label], judge: Judge, save: Callable[[Sequence[Label]], None]
) -> list[Label]:
    """Have each unreviewed label judged, and save every answer immediately."""
    judged = list(labels)
    waiting = [place for place, label in enumerate(judged) if label.state in ("proposed", "taken")]
    for number, place in enumerate(waiting, start=1):
        answer = judge(judged[place], number, len(waiting))
        if answer is None:
            break
        judged[place] = answer
        save(judged)
    return judged


def strike(label: Label) -> Label:
    return replace(label, text="", state="struck")


def accept_all(labels: Iterable[Label]) -> list[Label]:
    """Accept all proposals as they are, except blank ones that a person has to write."""
    return [
        replace(label, state="taken") if label.state == "proposed" and label.text else label
        for label in labels
    ]


def _is_current(label: Label, memories: Mapping[str, Memory]) -> bool:
    return all(
        id in memories and content_digest(memories[id]) == digest
        for id, digest in label.gold.items()
    )


def content_digest(memory: Memory) -> str:
    return hashlib.sha256(memory.content.encode()).hexdigest()


def _to_label(proposal: Proposal, own: OwnWords) -> Label:
    gold = {id: content_digest(own.memories[id]) for id in proposal.gold}
    return Label(proposal.id, proposal.stratum, proposal.text, gold)


def _check(label: Label) -> Label:
    texts = (label.id, label.text, *label.gold, *label.gold.values())
    if (
        label.stratum not in OWN_STRATA
        or label.state not in get_args(State)
        or not label.gold
        or not all(isinstance(text, str) for text in texts)
    ):
        raise ValueError("no label")
    return label


def _unusable_error(file: Path) -> InvalidInput:
    return InvalidInput(
        f"{file} is not a private set that this version can read",
        field="own",
        remedy="Move the file away to begin a new set.",
    )
