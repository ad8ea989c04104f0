"""A headless Chromium driven over its debugging pipe: no driver program, no library, no port."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import SECONDS, wait_until

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=900,1200",
    "--remote-debugging-pipe",
)
# Chromium reads commands from descriptor 3 and answers on 4.
START = """
import os, sys
reading, writing = int(sys.argv[1]), int(sys.argv[2])
high = [os.dup(fd) for fd in (reading, writing)]
while min(high) < 5:
    high = [os.dup(fd) for fd in high]
os.dup2(high[0], 3)
os.dup2(high[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Tab:
    """One page. `run` evaluates JavaScript in it; `wait` does so until the answer is true."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = os.fdopen(reading, "rb", buffering=0)
        self._writing = os.fdopen(writing, "wb", buffering=0)
        self._number = 0
        self._session: str | None = None
        self._unread = b""
        self.errors: list[str] = []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def close(self) -> None:
        self._session = None
        self._send("Browser.close")
        self._reading.close()
        self._writing.close()

    def before_each_page(self, script: str) -> None:
        self._send("Page.addScriptToEvaluateOnNewDocument", source=script)

    def go(self, url: str) -> None:
        self._send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, expression: str) -> Any:
        answer = self._send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, condition: str) -> Any:
        try:
            return wait_until(
                lambda: self.run(f"(() => {{ try {{ return {condition} }} catch {{ }} }})()")
            )
        except AssertionError as error:
            error.add_note(f"never became true: {condition}; the page said {self.errors}")
            raise

    def fill(self, selector: str, text: str) -> None:
        """Types into a field, as a person does."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.run("document.activeElement.select?.()")
        self._send("Input.insertText", text=text)

    def press(self, key: str) -> None:
        text = {"Enter": "\r"}.get(key, "")
        code = {"Enter": 13, "Tab": 9, "Escape": 27, " ": 32}[key]
        common = {"key": key, "windowsVirtualKeyCode": code}
        self._send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self._send("Input.dispatchKeyEvent", type="keyUp", **common)

    def set_media(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._send("Emulation.setEmulatedMedia", features=features)

    def screenshot(self) -> bytes:
        import base64

        shot = self._send("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._writing.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            chunk = self._reading.read(65_536)
            assert chunk, "the browser went away"
            self._unread += chunk
        first, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(first)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        """Whatever the page complains of: exceptions, refused loads, breaches of its policy."""
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(event["params"]["exceptionDetails"]))
        if event.get("method") == "Log.entryAdded":
            entry = event["params"]["entry"]
            if entry["level"] == "error":
                self.errors.append(f"{entry['text']} {entry.get('url', '')}".rstrip())


@contextmanager
def open_tab(binary: str, profile: Path) -> Iterator[Tab]:
    their_reading, our_writing = os.pipe()
    our_reading, their_writing = os.pipe()
    command = [binary, *FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(their_reading), str(their_writing), *command],
        pass_fds=(their_reading, their_writing),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(their_reading)
    os.close(their_writing)
    try:
        tab = Tab(our_reading, our_writing)
        try:
            yield tab
        finally:
            tab.close()
        process.wait(SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
