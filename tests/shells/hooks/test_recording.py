"""The recorded session in the documents is what the hooks do."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.agents.recording import FILE, PROMPTS, record


def test_the_recording_is_true(tmp_path: Path) -> None:
    assert len([prompt for prompt in PROMPTS if prompt[0] not in "=~"]) == 30
    assert record(tmp_path) == FILE.read_text()
