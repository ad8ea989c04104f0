"""What a hook sends to the process that holds the model: its event, which that process answers in
full.

Bytes, because the hook has no time to import anything for it, not even `json`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself takes too long here
if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = b"hook "
"""Begins the line before a call, which ends with the length of the call."""

SHOWN = b"shown\n"
"""Sent back once the answer is printed."""

SETTINGS = (
    "RECOLLECT_HOOK_FLOOR",
    "RECOLLECT_HOOK_MEANING_FLOOR",
    "RECOLLECT_HOOK_TOKENS",
    "RECOLLECT_OWNER",
    "RECOLLECT_PROJECT",
)
"""What a hook's answer depends on: its own environment counts, not that of the other process."""


class HookCall:
    """The `event` as the agent sent it, where and how the hook was called, and until when it waits:
    a moment of the monotonic clock, which the processes of a machine share.
    """

    def __init__(
        self, event: bytes, folder: str, environ: Mapping[str, str], until: float, *, as_text: bool
    ) -> None:
        self.event = event
        self.folder = folder
        self.environ = {name: environ[name] for name in SETTINGS if environ.get(name)}
        self.until = until
        self.as_text = as_text

    def to_bytes(self) -> bytes:
        """Encode the call, with the line before it. Neither an environment nor a path can contain a
        NUL.
        """
        settings = [f"{name}={value}" for name, value in self.environ.items()]
        form = "text" if self.as_text else "json"
        head = "\0".join([form, repr(self.until), self.folder, *settings, "", ""])
        call = head.encode("utf-8", "surrogateescape") + self.event
        return PREFIX + b"%d\n" % len(call) + call

    @classmethod
    def from_bytes(cls, call: bytes) -> HookCall:
        """Decode a call without that line; ValueError if it is malformed."""
        head, found, event = call.partition(b"\0\0")
        form, *parts = head.decode("utf-8", "surrogateescape").split("\0")
        if not found or not parts[1:]:
            raise ValueError("the call is cut off")
        until, folder, *settings = parts
        environ = dict(setting.split("=", 1) for setting in settings)
        return cls(event, folder, environ, float(until), as_text=form == "text")


class HookReply:
    """What the hook prints, and for its log what was found and how."""

    def __init__(self, text: str, counts: str, note: str) -> None:
        self.text = text
        self.counts = counts
        self.note = note

    @property
    def outcome(self) -> str:
        return f"{self.counts} ({self.note})" if self.note else self.counts

    def to_bytes(self) -> bytes:
        return f"{self.counts}\0{self.note}\0{self.text}\n".encode("utf-8", "replace")

    @classmethod
    def from_bytes(cls, reply: bytes) -> HookReply:
        """Decode a reply; ValueError if it is malformed."""
        counts, note, text = reply.decode("utf-8", "replace").split("\0", 2)
        return cls(text[:-1], counts, note)
