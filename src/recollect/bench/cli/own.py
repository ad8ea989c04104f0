"""`recollect bench own`: how well recall finds the user's own memories."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.prompt import Prompt
from rich.text import Text

from recollect.bench.cli.measuring import measured
from recollect.bench.own.labels import (
    Label,
    judged,
    present_labels,
    struck,
    taken,
    topped_up,
    write_labels,
)
from recollect.bench.own.memories import OwnMemories, counts, evaluation_set, read_own
from recollect.bench.own.private import private_folder
from recollect.bench.own.report import as_table, write_report
from recollect.bench.own.words import OwnWords
from recollect.bench.runs.configs import current_config, parse_configs, with_current
from recollect.bench.scores.scoring import scored
from recollect.bench.scores.summary import make_report
from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect.core.text.analysis import clean_query, unstorable
from recollect.settings import Settings, load
from recollect.wiring import open_service

# So much of a memory is shown to a person who judges a question about it.
_SHOWN: Final = 600
_CHOICES: Final = ("y", "e", "n", "q")
_NO_PARAPHRASES: Final = (
    "No paraphrase could be made: no memory has expanded keywords or tags that single it out and "
    "are not in its text. So these figures say nothing about questions in other words. Write some "
    "with --ask, or add --keyword to your memories."
)
_HELP: Final = "y keep, e edit, n strike, q enough"


def own(
    *,
    configs: Annotated[
        str, typer.Option(help="What to compare; each is compared with the first.")
    ] = "default,lexical,dense",
    questions: Annotated[int, typer.Option(min=1, help="How many of each stratum.")] = 30,
    ask: Annotated[
        bool, typer.Option("--ask", help="Write the paraphrases that cannot be made from labels.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Take every proposed question as it is.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same proposals and figures.")] = 1,
) -> None:
    """Ask about your own memories: a private set, labelled by you, and how well it is answered."""
    settings = load()
    folder = private_folder(settings.home)
    memories = asyncio.run(read_memories(settings))
    current = current_config(
        asyncio.run(_read_settings(settings)), is_local=settings.api_url is None
    )
    chosen, yours = with_current(parse_configs(configs), current)
    words = OwnWords.of(memories.memories.values())
    labels = topped_up(present_labels(folder, memories.memories), words, questions, seed, ask=ask)
    if yes:
        labels = taken(labels)
    write_labels(folder, labels)
    if not yes:
        person = Person(words, Console(stderr=True, highlight=False))
        labels = judged(labels, person, lambda now: write_labels(folder, now))
    data = evaluation_set(memories, labels)
    # A vector kept by its text would outlive a memory that is made sensitive or erased.
    runs = measured([(data, chosen)], settings, timed=0, keep_vectors=False)
    about = {**counts(memories, labels), "current_configuration": yours}
    found = scored([data], runs)
    report = make_report(found, against=chosen[0].name, seed=seed, provenance=about)
    files = write_report(folder, report)
    out = Console(highlight=False)
    out.print(as_table(report))
    out.print(f"{yours} is what you have now: your settings, on your kind of store")
    if not any(one.stratum == "paraphrase" for one in labels):
        out.print(_NO_PARAPHRASES)
    out.print(f"written to {' and '.join(map(str, files))}", soft_wrap=True)


async def read_memories(settings: Settings) -> OwnMemories:
    """From the store that this process works with, as it is; nothing in it is changed."""
    async with open_service(settings) as recollect:
        return await read_own(recollect)


async def _read_settings(settings: Settings) -> RecallSettings:
    async with open_service(settings) as recollect:
        return await recollect.settings()


class Person:
    """Whoever sits at the terminal, asked about one question after another."""

    def __init__(self, words: OwnWords, console: Console) -> None:
        self._words = words
        self._console = console

    def __call__(self, label: Label, number: int, total: int) -> Label | None:
        console = self._console
        console.rule(f"{number} of {total}, {label.stratum}")
        for id in label.gold:
            content = clean_query(self._words.memories[id].content)
            cut = content if len(content) <= _SHOWN else f"{content[:_SHOWN]} …"
            console.print(Text(f"memory: {cut}"))
        try:
            return self._judged(label)
        except EOFError as error:
            raise InvalidInput(
                f"nobody answered question {number} of {total}; what was answered is kept",
                field="own",
                remedy="Run it again in a terminal to go on, or take the rest as it is with --yes.",
            ) from error

    def _judged(self, label: Label) -> Label | None:
        if not label.text:
            text = self._typed(label, "a question about it in other words (empty: none, q: enough)")
            if text == "q":
                return None
            return replace(label, text=text, state="confirmed") if text else struck(label)
        self._console.print(Text(f"question: {clean_query(label.text)}", style="bold"))
        choice = Prompt.ask(_HELP, choices=list(_CHOICES), default="y", console=self._console)
        if choice == "q":
            return None
        if choice == "n":
            return struck(label)
        text = self._typed(label, "the question (empty: as it is)") if choice == "e" else ""
        return replace(label, text=text or label.text, state="confirmed")

    def _typed(self, label: Label, what: str) -> str:
        """A question that its stratum allows, or nothing."""
        while True:
            text = Prompt.ask(what, default="", show_default=False, console=self._console).strip()
            if fault := unstorable(text):
                self._console.print(f"that holds {fault}")
            elif given := self._words.given_away(label.stratum, text, tuple(label.gold)):
                told = ", ".join(sorted(given))
                self._console.print(Text(f"that would give it away: {told}; say it without"))
            else:
                return text
