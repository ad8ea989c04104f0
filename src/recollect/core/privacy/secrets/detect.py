"""What in a text looks like a credential, and how sure one can be.

People paste keys into notes. A memory that holds one becomes sensitive, unless the caller overrules
it, and so never leaves the machine. Nothing here keeps or shows what it found, only where.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from recollect.core.privacy.secrets.normalize import readable
from recollect.core.privacy.secrets.phrases import find_phrases
from recollect.core.privacy.secrets.rules import RULES

# At least this sure, and a memory becomes sensitive. A secret that is missed may leave the machine
# for good; a false alarm only keeps one memory from being found by meaning, and can be overruled.
# So the line is drawn below the weakest form that is usually real (a short password in an
# assignment) and above words, names and numbers in the same place (0.4).
SENSITIVE_CONFIDENCE: Final = 0.7


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a credential stands in a text, `text[start:end]`, and of what kind it is."""

    kind: str
    start: int
    end: int
    confidence: float

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end


def told(kind: str, confidence: float) -> str:
    """Why a text made its memory sensitive, for whoever stored it. Never the text itself."""
    return f"its text looks like a secret ({kind}, confidence {confidence:g})"


def find_secrets(text: str) -> tuple[Secret, ...]:
    """What may be a secret, in the order of the text; of two that overlap, the surer one."""
    plain, places = readable(text)
    found = [
        Secret(rule.kind, *match.span(match.lastindex or 0), confidence)
        for rule in RULES
        for match in rule.pattern.finditer(plain)
        if (confidence := rule.judge(match[match.lastindex or 0])) > 0
    ]
    found += [Secret("seed phrase", *phrase) for phrase in find_phrases(plain)]
    ordered = sorted(found, key=lambda secret: secret.span)
    return tuple(
        replace(secret, start=places[secret.start], end=places[secret.end - 1] + 1)
        for secret in _apart(ordered)
    )


def looks_sensitive(text: str) -> Secret | None:
    """The surest secret in the text, if one is sure enough for the text to be sensitive."""
    surest = max(find_secrets(text), key=lambda secret: secret.confidence, default=None)
    return surest if surest is not None and surest.confidence >= SENSITIVE_CONFIDENCE else None


def _apart(ordered: Iterable[Secret]) -> list[Secret]:
    kept: list[Secret] = []
    for secret in ordered:
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
        elif secret.confidence > kept[-1].confidence:
            kept[-1] = secret
    return kept
