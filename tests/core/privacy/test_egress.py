"""Where text may be sent, as a table: by default it never leaves this machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.privacy.addresses import ELSEWHERE, HERE, NO_ADDRESS

from recollect.core.errors import InvalidInput
from recollect.core.privacy.egress import is_allowed, is_loopback, require_allowed, require_private


@pytest.mark.parametrize("url", HERE)
def test_this_machine_is_always_allowed(url: str) -> None:
    assert is_allowed(url, "local")
    assert is_allowed(url, "hosted")
    require_allowed(url, "local")
    require_private(url)


@pytest.mark.parametrize("url", ELSEWHERE)
def test_another_machine_is_allowed_only_when_opened(url: str) -> None:
    assert not is_allowed(url, "local")
    assert is_allowed(url, "hosted")
    with pytest.raises(InvalidInput) as caught:
        require_allowed(url, "local")
    assert caught.value.field == "RECOLLECT_EGRESS"
    assert "RECOLLECT_EGRESS=hosted" in caught.value.remedy


@pytest.mark.parametrize("url", NO_ADDRESS)
def test_what_two_programs_could_read_differently_is_never_allowed(url: str) -> None:
    assert not is_allowed(url, "local")
    assert not is_allowed(url, "hosted")
    with pytest.raises(InvalidInput):
        require_allowed(url, "hosted")


@pytest.mark.parametrize("url", [url for url in ELSEWHERE if url.startswith("http:")])
def test_key_is_only_sent_over_private_connections(url: str) -> None:
    with pytest.raises(InvalidInput, match="key"):
        require_private(url)


@given(st.text())
def test_no_text_raises_and_loopback_is_always_allowed(url: str) -> None:
    assert is_allowed(url, "local") == is_loopback(url)
