"""Logs of libraries appear in our format: one line, and nothing that could quote a memory."""

from __future__ import annotations

import logging

import pytest

from recollect.shells.logs import log_to_stderr


@pytest.fixture
def log(log_shown: None) -> logging.Logger:
    log_to_stderr()  # called twice: no line may be duplicated
    return logging.getLogger("some.library")


def test_an_error_of_a_library_is_one_line_without_its_text(
    log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        int("the text of a memory")
    except ValueError as error:
        log.exception("a task failed: %s\ntask: %r", error, error)  # noqa: TRY401  # as libraries do
    (line,) = capsys.readouterr().err.splitlines()
    assert "a task failed: ValueError" in line
    assert "level=error" in line
    assert "logger=some.library" in line
    assert "test_logs.py:" in line
    assert "memory" not in line


def test_warnings_are_logged_and_lower_levels_are_not(
    log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    log.info("a connection was made")
    log.warning("a connection was lost")
    (line,) = capsys.readouterr().err.splitlines()
    assert "a connection was lost" in line
    assert "level=warning" in line
