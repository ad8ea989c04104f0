"""`recollect bench own`: measure recall on the user's own memories."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Final

from rich.console import Console
from rich.prompt import Prompt
from rich.text import Text

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect.core.text.analysis import clean_query, find_unstorable
from recollect.settings import Settings, load
from recollect.shells.cli.framework.commands import Option
from recollect.wiring.local import find_model, open_service
from recollect_bench.cli.measuring import measure_runs, report_console
from recollect_bench.own.labels import (
    Label,
    accept_all,
    judge_labels,
    read_current_labels,
    strike,
    top_up,
    write_labels,
)
from recollect_bench.own.memories import OwnMemories, counts, evaluation_set, read_own
from recollect_bench.own.private import private_folder
from recollect_bench.own.report import as_table, write_report
from recollect_bench.own.words import OwnWords
from recollect_bench.runs.configs import current_config, parse_configs, with_current
from recollect_bench.scores.scoring import score_runs
from recollect_bench.scores.summary import make_report

# How many characters of a memory are shown when a question about it is judged.
_MAX_SHOWN: Final = 600
_CHOICES: Final = ("y", "e", "n", "q")
_NO_PARAPHRASES: Final = (
    "No paraphrases could be generated: no memory has distinctive keywords or tags that are not in "
    "its text. These figures therefore do not cover questions in other words. Write some with "
    "--ask, or add keywords to your memories with --keyword."
)
_HELP: Final = "y keep, e edit, n discard, q quit"


def own(
    *,
    configs: Annotated[
        str, Option("--configs", help="Configurations to compare, each with the first.")
    ] = "default,lexical,dense",
    questions: Annotated[
        int, Option("--questions", min=1, help="Number of questions per stratum.")
    ] = 30,
    ask: Annotated[
        bool, Option("--ask", help="Write the paraphrases that cannot be generated yourself.")
    ] = False,
    yes: Annotated[bool, Option("--yes", help="Accept every proposed question.")] = False,
    seed: Annotated[
        int, Option("--seed", min=0, help="Random seed for questions and resampling.")
    ] = 1,
) -> None:
    """Measure recall on your own memories, with a private set of questions that you confirm."""
    settings = load()
    folder = private_folder(settings.home)
    memories = asyncio.run(read_memories(settings))
    current = current_config(
        asyncio.run(_read_settings(settings)),
        is_local=settings.api_url is None,
        has_model=find_model(settings) is not None,
    )
    chosen, yours = with_current(parse_configs(configs), current)
    words = OwnWords.of(memories.memories.values())
    labels = top_up(read_current_labels(folder, memories.memories), words, questions, seed, ask=ask)
    if yes:
        labels = accept_all(labels)
    write_labels(folder, labels)
    if not yes:
        person = Person(words, Console(stderr=True, highlight=False))
        labels = judge_labels(labels, person, lambda now: write_labels(folder, now))
    data = evaluation_set(memories, labels)
    # A cached vector would outlive a memory that is erased or becomes sensitive.
    runs = measure_runs([(data, chosen)], settings, timed=0, keep_vectors=False)
    about = {**counts(memories, labels), "current_configuration": yours}
    found = score_runs([data], runs)
    report = make_report(found, against=chosen[0].name, seed=seed, provenance=about)
    files = write_report(folder, report)
    out = report_console()
    out.print(as_table(report))
    out.print(f"{yours}: your current settings on your kind of store")
    if not any(label.stratum == "paraphrase" for label in labels):
        out.print(_NO_PARAPHRASES)
    out.print(f"report written to {' and '.join(map(str, files))}", soft_wrap=True)


async def read_memories(settings: Settings) -> OwnMemories:
    """Read the memories of the configured store without changing anything."""
    async with open_service(settings) as recollect:
        return await read_own(recollect)


async def _read_settings(settings: Settings) -> RecallSettings:
    async with open_service(settings) as recollect:
        return await recollect.settings()


class Person:
    """Asks the person at the terminal about one question after another."""

    def __init__(self, words: OwnWords, console: Console) -> None:
        self._words = words
        self._console = console

    def __call__(self, label: Label, number: int, total: int) -> Label | None:
        console = self._console
        console.rule(f"{number} of {total}, {label.stratum}")
        for id in label.gold:
            content = clean_query(self._words.memories[id].content)
            cut = content if len(content) <= _MAX_SHOWN else f"{content[:_MAX_SHOWN]} …"
            console.print(Text(f"memory: {cut}"))
        try:
            return self._judge(label)
        except EOFError as error:
            raise InvalidInput(
                f"no answer to question {number} of {total}; your earlier answers are saved",
                field="own",
                remedy="Run it again in a terminal to continue, or accept the rest with --yes.",
            ) from error

    def _judge(self, label: Label) -> Label | None:
        if not label.text:
            text = self._read_question(
                label, "a question about it in other words (empty: none, q: quit)"
            )
            if text == "q":
                return None
            return replace(label, text=text, state="confirmed") if text else strike(label)
        self._console.print(Text(f"question: {clean_query(label.text)}", style="bold"))
        choice = Prompt.ask(_HELP, choices=list(_CHOICES), default="y", console=self._console)
        if choice == "q":
            return None
        if choice == "n":
            return strike(label)
        text = self._read_question(label, "the question (empty: keep it)") if choice == "e" else ""
        return replace(label, text=text or label.text, state="confirmed")

    def _read_question(self, label: Label, what: str) -> str:
        """Read a question that its stratum allows, or an empty string."""
        while True:
            text = Prompt.ask(what, default="", show_default=False, console=self._console).strip()
            if fault := find_unstorable(text):
                self._console.print(f"the question contains {fault}")
            elif revealing := self._words.given_away(label.stratum, text, tuple(label.gold)):
                words = ", ".join(sorted(revealing))
                self._console.print(
                    Text(f"this gives the answer away: {words}. Rephrase it without these words")
                )
            else:
                return text
