"""What a key looks like, and that any text has a hash."""

from __future__ import annotations

import hashlib
import re

from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies import any_text

from recollect.core.privacy.keys import ENTROPY_BYTES, digest, key_text

entropies = st.binary(min_size=ENTROPY_BYTES, max_size=ENTROPY_BYTES)


@given(entropies)
def test_a_key_is_one_word_fit_for_a_header(entropy: bytes) -> None:
    assert re.fullmatch(r"rk_[A-Za-z0-9_-]{43}", key_text(entropy))


@given(entropies, entropies)
def test_no_entropy_is_lost(one: bytes, other: bytes) -> None:
    assert (key_text(one) == key_text(other)) == (one == other)


def test_the_hash_is_sha256() -> None:
    assert digest("rk_abc") == hashlib.sha256(b"rk_abc").digest()


@given(any_text, any_text)
@example("?", "\ud800")
def test_any_text_has_a_hash_of_its_own(one: str, other: str) -> None:
    assert (digest(one) == digest(other)) == (one == other)
