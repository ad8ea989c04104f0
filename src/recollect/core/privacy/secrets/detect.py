"""Find what looks like a credential in a text, with a confidence.

People paste keys into notes. A memory that contains one becomes sensitive, unless the caller
overrides that, and so never leaves the machine. Nothing here keeps or shows what it found, only
where.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from recollect.core.privacy.secrets.normalize import readable
from recollect.core.privacy.secrets.phrases import find_phrases
from recollect.core.privacy.secrets.rules import RULES
from recollect.core.text.secret import Secret

# From this confidence on, a memory becomes sensitive. A missed secret may leave the machine
# permanently; a false alarm only keeps one memory from being found by meaning, and can be
# overridden. So the threshold is below the weakest form that is usually real (a short password in
# an assignment) and above words, names and numbers in the same place (0.4).
SENSITIVE_CONFIDENCE: Final = 0.7


def describe_secret(kind: str, confidence: float) -> str:
    """Why a text made its memory sensitive, for the person who stored it. Never the text itself."""
    return f"its text looks like a secret ({kind}, confidence {confidence:g})"


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Possible secrets in text order; of two that overlap, the one with more confidence."""
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
    """The most certain secret in the text, if it is certain enough for the text to be sensitive."""
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
