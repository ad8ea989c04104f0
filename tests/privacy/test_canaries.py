"""The detector itself: a canary is seen in every encoding, and nothing else is."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from tests.privacy.canaries import Aviary, birds_in, canary

TEXT = f"the code of the safe is {canary('one')}, said Ann"


@pytest.mark.parametrize(
    "form",
    [
        TEXT,
        TEXT.upper(),
        json.dumps({"content": TEXT}),
        quote(TEXT),
        base64.b64encode(TEXT.encode()).decode(),
        base64.b64encode(b"x" + TEXT.encode()).decode(),
        base64.urlsafe_b64encode(b"xy" + TEXT.encode()).decode(),
        TEXT.encode().hex(),
        TEXT.encode("utf-16-le"),
    ],
)
def test_a_canary_is_seen_in_every_form(form: str | bytes) -> None:
    assert birds_in(form)


def test_other_text_is_left_alone() -> None:
    assert birds_in(base64.b64encode(b"a canary, an ordinary one" * 9)) == []


def test_aviary_names_the_leak() -> None:
    aviary = Aviary()
    aviary.record("log", "all is well")
    aviary.check()
    aviary.record("log", TEXT)
    with pytest.raises(AssertionError, match="log"):
        aviary.check()
