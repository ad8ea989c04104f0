"""Recall by words only comes with a hint on how to get more, shown once."""

from __future__ import annotations

import json

from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of

from recollect.core.admin.checks import MORE_THAN_WORDS, WORDS_ONLY


def test_json_always_says_that_a_local_recall_goes_by_words(cli: Cli) -> None:
    cli("remember", "Tea is in the shed.")
    for _ in range(2):
        assert cli.json("recall", "tea")["hint"] == WORDS_ONLY


def test_hint_is_shown_once_a_day(cli: Cli) -> None:
    cli("remember", "Tea is in the shed.")
    assert cli("recall", "tea").stderr == f"{WORDS_ONLY}\n"
    assert cli("recall", "tea").stderr == ""
    shown = cli.home / "hints-shown.json"
    shown.write_text(json.dumps({**json.loads(shown.read_text()), "day": "2020-01-01"}))
    assert cli("recall", "tea").stderr == f"{WORDS_ONLY}\n"
    shown.write_text("[]")
    assert cli("recall", "tea").stderr == f"{WORDS_ONLY}\n"


def test_doctor_notes_recall_by_words_and_passes(cli: Cli) -> None:
    report = cli.json("doctor")
    (check,) = [check for check in report["checks"] if check["name"] == "recall"]
    assert (check["status"], check["remedy"]) == ("ok", MORE_THAN_WORDS)


def test_server_without_embeddings_gives_a_hint(cli: Cli, server: Running) -> None:
    there = client_of(server, cli.home)
    there("remember", "Tea is in the shed.")
    assert "no memory is embedded yet" in there.json("recall", "tea")["hint"]
