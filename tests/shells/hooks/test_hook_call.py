"""A hook's call arrives as it was sent, whatever is in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.wire.hook_call import PREFIX, SETTINGS, HookCall, HookReply
from recollect.wiring.fast_recall import read_settings
from recollect.wiring.project import current_project

NO_ZERO = st.text().filter(lambda text: "\0" not in text)
# As the system gives them: bytes that are no UTF-8 become surrogates.
VALUES = st.binary().filter(lambda data: b"\0" not in data).map(os.fsdecode)


@given(
    event=st.binary(),
    folder=VALUES.filter(bool),
    values=st.dictionaries(st.sampled_from(SETTINGS), VALUES.filter(bool)),
    as_text=st.booleans(),
)
def test_a_call_arrives_as_it_was_sent(
    event: bytes, folder: str, values: dict[str, str], *, as_text: bool
) -> None:
    sent = HookCall(event, folder, values, as_text=as_text).to_bytes()
    line, _, call = sent.partition(b"\n")
    assert line == PREFIX + str(len(call)).encode()
    read = HookCall.from_bytes(call)
    assert (read.event, read.folder, read.environ, read.as_text) == (event, folder, values, as_text)


@given(text=st.text(), counts=NO_ZERO, note=NO_ZERO)
def test_a_reply_arrives_as_it_was_sent(text: str, counts: str, note: str) -> None:
    read = HookReply.from_bytes(HookReply(text, counts, note).to_bytes())
    assert (read.text, read.counts, read.note) == (text, counts, note)


@pytest.mark.parametrize("call", [b"", b"text", b"text\0/srv", b"text\0/srv\0A=1", b"\0\0"])
def test_what_is_no_call_is_refused(call: bytes) -> None:
    with pytest.raises(ValueError, match="cut off"):
        HookCall.from_bytes(call)


@pytest.mark.parametrize("reply", [b"", b"\n", b"counts\0note\n", b'{"hits": []}\n'])
def test_what_is_no_reply_is_refused(reply: bytes) -> None:
    with pytest.raises(ValueError, match="unpack"):
        HookReply.from_bytes(reply)


class Seen(dict[str, str]):
    """Remembers what was looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]  # as `environ` is read
        self.names.add(key)
        return default


def test_a_call_holds_every_setting_that_an_answer_depends_on(tmp_path: Path) -> None:
    environ = Seen()
    read_settings(environ)
    current_project(tmp_path, environ)
    # Where the store is, the session that answers knows; it is asked only without a server.
    known = {"RECOLLECT_HOME", "XDG_DATA_HOME"}
    server = {"RECOLLECT_API_URL", "RECOLLECT_API_KEY", "RECOLLECT_SYNC"}
    assert environ.names - known - server == {*SETTINGS}
