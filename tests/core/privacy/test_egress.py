"""Where text may go, as a table: the default lets none leave this machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.core.errors import InvalidInput
from recollect.core.privacy.egress import allowed, is_loopback, require_allowed, require_private

HERE = (
    "http://127.0.0.1",
    "http://127.0.0.1:8080/v1",
    "https://127.3.2.1/v1",
    "http://localhost:11434/v1",
    "http://LOCALHOST/v1",
    "http://[::1]:8080/v1",
    "http://[::ffff:127.0.0.1]/v1",
)
ELSEWHERE = (
    "https://api.voyageai.com/v1",
    "http://10.0.0.5:8000/v1",
    "https://localhost.example.com/v1",
    "https://127.0.0.1.example.com/v1",
    "http://0.0.0.0:8080/v1",
    "http://[::]:8080/v1",
    "http://[::ffff:10.0.0.5]/v1",
    "http://127.1/v1",
    "http://2130706433/v1",
    "http://localhost./v1",
)
NO_ADDRESS = (
    "",
    "127.0.0.1:8080",
    "ftp://127.0.0.1/",
    "file:///etc/passwd",
    "http://127.0.0.1@evil.example.com/v1",
    "http://127.0.0.1\\@evil.example.com/v1",
    "http://evil.example.com#@127.0.0.1/",
    "http://127.0.0.1%2eevil.example.com/",
    "http://127.0.0.1:80:80/",
    "http://127.0.0.1/v1?next=x",
    "http://127.0.0.1/v1\n",
    " http://127.0.0.1/v1",
    "http://l\u00f6calhost/v1",
    "http://\uff11\uff12\uff17.0.0.1/v1",
    "http://[127.0.0.1/v1",
)


@pytest.mark.parametrize("url", HERE)
def test_this_machine_is_always_allowed(url: str) -> None:
    assert allowed(url, "local")
    assert allowed(url, "hosted")
    require_allowed(url, "local")
    require_private(url)


@pytest.mark.parametrize("url", ELSEWHERE)
def test_another_machine_is_allowed_only_when_opened(url: str) -> None:
    assert not allowed(url, "local")
    assert allowed(url, "hosted")
    with pytest.raises(InvalidInput) as caught:
        require_allowed(url, "local")
    assert caught.value.field == "RECOLLECT_EGRESS"
    assert "RECOLLECT_EGRESS=hosted" in caught.value.remedy


@pytest.mark.parametrize("url", NO_ADDRESS)
def test_what_two_programs_could_read_differently_is_never_allowed(url: str) -> None:
    assert not allowed(url, "local")
    assert not allowed(url, "hosted")
    with pytest.raises(InvalidInput):
        require_allowed(url, "hosted")


@pytest.mark.parametrize("url", [url for url in ELSEWHERE if url.startswith("http:")])
def test_key_is_only_sent_over_private_connections(url: str) -> None:
    with pytest.raises(InvalidInput, match="key"):
        require_private(url)


@given(st.text())
def test_no_text_raises_and_loopback_is_always_allowed(url: str) -> None:
    assert allowed(url, "local") == is_loopback(url)
