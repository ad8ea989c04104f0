"""A hook's call arrives as it was sent, whatever is in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.settings import Settings
from recollect.shells.hooks.events import parse_event
from recollect.shells.hooks.recall import Prompt
from recollect.wire.hook_call import PREFIX, SETTINGS, HookCall, HookReply

NO_ZERO = st.text().filter(lambda text: "\0" not in text)
# As the system passes them: bytes that are not UTF-8 become surrogates.
VALUES = st.binary().filter(lambda data: b"\0" not in data).map(os.fsdecode)


@given(
    event=st.binary(),
    folder=VALUES.filter(bool),
    values=st.dictionaries(st.sampled_from(SETTINGS), VALUES.filter(bool)),
    until=st.floats(0, 1e9),
    as_text=st.booleans(),
)
def test_a_call_arrives_as_it_was_sent(
    event: bytes, folder: str, values: dict[str, str], until: float, *, as_text: bool
) -> None:
    sent = HookCall(event, folder, values, until, as_text=as_text).to_bytes()
    line, _, call = sent.partition(b"\n")
    assert line == PREFIX + str(len(call)).encode()
    read = HookCall.from_bytes(call)
    assert (read.event, read.folder, read.environ) == (event, folder, values)
    assert (read.until, read.as_text) == (until, as_text)


@given(text=st.text(), counts=NO_ZERO, note=NO_ZERO)
def test_a_reply_arrives_as_it_was_sent(text: str, counts: str, note: str) -> None:
    read = HookReply.from_bytes(HookReply(text, counts, note).to_bytes())
    assert (read.text, read.counts, read.note) == (text, counts, note)


@pytest.mark.parametrize(
    "call",
    [
        b"",
        b"text",
        b"text\0009.5",
        b"text\0009.5\0/srv",
        b"text\0009.5\0/srv\0A=1",
        b"text\0\0",
        b"\0\0",
    ],
)
def test_what_is_no_call_is_refused(call: bytes) -> None:
    with pytest.raises(ValueError, match="cut off"):
        HookCall.from_bytes(call)


@pytest.mark.parametrize("reply", [b"", b"\n", b"counts\0note\n", b'{"hits": []}\n'])
def test_what_is_no_reply_is_refused(reply: bytes) -> None:
    with pytest.raises(ValueError, match="unpack"):
        HookReply.from_bytes(reply)


READ: set[str] = set()


class Seen(Settings):
    """Records which settings are read."""

    def __getattribute__(self, name: str) -> Any:
        READ.add(name)
        return super().__getattribute__(name)


class Environ(dict[str, str]):
    """Records which variables are looked up."""

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]  # as `environ` is read
        READ.add(key.removeprefix("RECOLLECT_").lower())
        return default


def test_a_call_holds_every_setting_that_an_answer_depends_on(tmp_path: Path) -> None:
    settings = Seen(home=tmp_path)
    READ.clear()
    event = parse_event(b'{"prompt": "when do the ferries leave?"}', str(tmp_path))
    prompt = Prompt(event, Environ(), settings, as_text=True)
    assert prompt.request is not None
    prompt.reply((), "")
    assert settings.owner
    # The session that answers knows where the store is.
    known = {"home", "XDG_DATA_HOME"}
    read = READ & {*Settings.__dataclass_fields__, "XDG_DATA_HOME"}
    assert {f"RECOLLECT_{name.upper()}" for name in read - known} == {*SETTINGS}
