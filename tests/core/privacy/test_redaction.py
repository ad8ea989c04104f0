"""A foreign error's text is never shown: neither alone, nor as a cause, nor inside a group."""

from __future__ import annotations

import errno

from recollect.core.errors import StoreBusy
from recollect.core.privacy.redaction import locations, safe_message, safe_traceback

TEXT = "text-of-a-memory"


def _foreign() -> None:
    raise ValueError(TEXT) from ExceptionGroup(TEXT, [LookupError(TEXT)])


def _fails() -> None:
    try:
        _foreign()
    except ValueError as error:
        raise StoreBusy("the store is busy", remedy="Wait.") from error


def _caught() -> Exception:
    try:
        _fails()
    except StoreBusy as error:
        return error
    raise AssertionError


def test_a_traceback_has_every_kind_and_place_and_no_foreign_text() -> None:
    shown = safe_traceback(_caught())
    assert TEXT not in shown
    for part in ("ExceptionGroup", "LookupError", "ValueError", "StoreBusy: the store is busy"):
        assert part in shown
    assert shown.index("ValueError\n") < shown.index("StoreBusy")
    assert shown.count("in _foreign") == 1


def test_a_context_that_was_not_the_cause_is_shown_too() -> None:
    def careless() -> None:
        try:
            _foreign()
        except ValueError:
            raise KeyError(TEXT)  # noqa: B904  # the test reads the context

    try:
        careless()
    except KeyError as error:
        shown = safe_traceback(error)
    assert "ValueError\n" in shown
    assert TEXT not in shown


def test_errors_explain_themselves_only_in_words_that_are_known() -> None:
    assert safe_message(StoreBusy("the store is busy", remedy="Wait.")) == "the store is busy"
    assert safe_message(KeyError(TEXT)) == "KeyError"
    assert safe_message(OSError(TEXT)) == "OSError"
    full = OSError(errno.ENOSPC, "No space left on device", TEXT)
    assert safe_message(full) == "OSError (No space left on device)"


def test_places_end_where_it_was_raised() -> None:
    line = _fails.__code__.co_firstlineno + 4
    assert locations(_caught())[-1] == f"{__file__}:{line}"
