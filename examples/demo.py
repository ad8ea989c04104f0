"""`make demo`: first the local store alone, then a real server on a real Postgres, with a dozen
memories and recalls that are explained.

Everything is in a temporary folder and is removed at the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent import show_hook  # type: ignore[import-not-found]  # in this folder
from local import show_local_store  # type: ignore[import-not-found]  # in this folder
from offline import sync_again, sync_laptop, work_offline  # type: ignore[import-not-found]  # in this folder
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recollect.adapters.http.client import RemoteService
from recollect.core.memory.memory import Draft
from recollect.core.recall.request import Hit, LegPlace, LegReport, RecallRequest, Recollection
from recollect.ports.service import Service

START_SECONDS = 120.0
EMBED_SECONDS = 300.0
# Next to the other files that are fetched once for this clone.
MODELS = Path(sys.prefix) / "recollect-models"
console = Console(highlight=False)

MEMORIES = (
    Draft(
        "The staging database is read-only on Fridays, because backups are verified then.",
        category="fact",
        tags=("staging", "database"),
        expanded_keywords=("postgres", "backup", "weekday"),
        importance=0.8,
    ),
    Draft(
        "Deployments go out with `make release`; it asks for the change log entry first.",
        category="procedure",
        tags=("deploy",),
        expanded_keywords=("ship", "rollout"),
        importance=0.9,
    ),
    Draft(
        "Nadia prefers small pull requests with one idea each.",
        category="preference",
        tags=("review",),
        importance=0.6,
    ),
    Draft(
        "We chose Postgres over MySQL in March, for its full-text search.",
        category="decision",
        tags=("database", "architecture"),
        importance=0.7,
    ),
    Draft(
        "The flaky checkout test was caused by a clock that two threads shared.",
        category="lesson",
        tags=("tests", "checkout"),
        importance=0.5,
    ),
    Draft(
        "Invoices are numbered per country and year, never reused.",
        category="fact",
        tags=("billing",),
        importance=0.7,
    ),
    Draft(
        "The design system's colours are in tokens.json; do not copy hex values.",
        category="reference",
        tags=("frontend",),
    ),
    Draft(
        "Customers in Norway pay VAT at 25 percent, food at 15 percent.",
        category="fact",
        tags=("billing", "tax"),
        expanded_keywords=("value added tax", "rate"),
        importance=0.6,
    ),
    Draft(
        "The on-call phone is handed over on Monday at ten.",
        category="procedure",
        tags=("on-call",),
        importance=0.4,
    ),
    Draft(
        "Search latency doubled when the index was moved to the slow disk.",
        category="lesson",
        tags=("search", "performance"),
        importance=0.6,
    ),
    Draft(
        "Tomás answers questions about the payment provider.",
        category="reference",
        tags=("people", "payments"),
        importance=0.8,
    ),
    Draft(
        "The backup of the production database runs at two in the morning UTC.",
        category="fact",
        tags=("database", "backup"),
        importance=0.7,
    ),
)

BY_WORD = ("when is the staging database read-only?", "VAT rate for Norwegian customers")
# None of these queries shares a word with the memory that answers it, which is given by one of its
# words.
BY_MEANING = {
    "publishing a new version of our software": "Deployments",
    "who can help with credit cards?": "Tomás",
}


@dataclass(frozen=True)
class Connection:
    url: str
    key: str


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="recollect-demo-") as folder:
        home = Path(folder)
        # As root, Postgres runs as another account, which needs to traverse this folder.
        home.chmod(0o711)
        show_local_store(home / "alone", MODELS)
        with running_server(home) as server:
            asyncio.run(show(server))
            show_hook(home / "agent", server.url, server.key)
            asyncio.run(sync_laptop(home / "laptop", server.url, server.key))
        asyncio.run(work_offline(home / "laptop", server.url, server.key))
        with running_server(home) as again:
            asyncio.run(sync_again(home / "laptop", again.url, server.key))
    console.print("\nThe server and its Postgres have ended; nothing is left running.")


@contextmanager
def running_server(home: Path, **settings: str) -> Iterator[Connection]:
    """Run `recollect serve` as a user would, on a free port."""
    ready, log = home / "ready.json", home / "server.log"
    command = [sys.executable, "-m", "recollect.main", "serve", "--port", "0"]
    command += ["--ready-file", str(ready)]
    inherited = {name: os.environ[name] for name in os.environ if "RECOLLECT_" not in name}
    places = {"RECOLLECT_HOME": str(home), "RECOLLECT_MODELS": str(MODELS)}
    console.print("Starting a server on an embedded Postgres …")
    started = time.perf_counter()
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            env={**inherited, **places, **settings},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        connection = wait_until_ready(process, ready, log)
        seconds = time.perf_counter() - started
        console.print(f"Ready at {connection.url} after {seconds:.1f} s.\n")
        yield connection
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def wait_until_ready(process: subprocess.Popen[bytes], ready: Path, log: Path) -> Connection:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if ready.exists():
            details = json.loads(ready.read_text())
            return Connection(details["url"], details.get("key", ""))  # only on the first start
        if process.poll() is not None:
            break
        time.sleep(0.05)
    sys.exit(f"The server did not start:\n{log.read_text()}")


async def show(server: Connection) -> None:
    async with RemoteService(server.url, server.key) as recollect:
        await store_samples(recollect)
        console.rule("by word: the question and the answer share some", align="left")
        await show_recalls(recollect, BY_WORD)
        await wait_until_embedded(recollect)
        console.rule("by meaning: the question and the answer share no word", align="left")
        for found, (query, word) in zip(
            await show_recalls(recollect, tuple(BY_MEANING)), BY_MEANING.items(), strict=True
        ):
            if not found.hits or word not in found.hits[0].memory.content:
                sys.exit(f"{query!r} did not find the memory about {word}.")


async def show_recalls(recollect: Service, queries: Sequence[str]) -> list[Recollection]:
    answers = []
    for query in queries:
        answers.append(await recollect.recall(RecallRequest(query, limit=3)))
        print_recall(query, answers[-1])
    return answers


async def wait_until_embedded(recollect: Service) -> None:
    """Wait for the worker, which embeds in the server; the first time it also builds the model."""
    console.print("\nEmbedding in the background; the model is fetched and built once …")
    started = time.perf_counter()
    while time.perf_counter() - started < EMBED_SECONDS:
        state = (await recollect.stats()).embedding
        if state is not None and state.embedded >= len(MEMORIES) and state.waiting == 0:
            seconds = time.perf_counter() - started
            console.print(f"{state.embedded} memories embedded after {seconds:.1f} s.\n")
            return
        await asyncio.sleep(0.2)
    why = state.last_error if state is not None else "this Postgres has no pgvector"
    sys.exit(f"The memories were not embedded within {EMBED_SECONDS:.0f} s: {why}")


async def store_samples(recollect: Service) -> None:
    started = time.perf_counter()
    for draft in MEMORIES:
        await recollect.remember(draft)
    each = (time.perf_counter() - started) * 1000 / len(MEMORIES)
    console.print(f"Remembered {len(MEMORIES)} things over REST, {each:.1f} ms each.")


def print_recall(query: str, answer: Recollection) -> None:
    console.print(Text.assemble("\nrecall ", (query, "bold"), f"   {answer.took_ms:.1f} ms"))
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for hit in answer.hits:
        table.add_row(f"{hit.confidence:.0%}", Text(hit.memory.content))
        table.add_row("", Text(why(hit, answer), style="dim"))
    console.print(table)


def where(place: LegPlace, leg: LegReport) -> str:
    """Describe a leg's rank and score for a hit; the graph walk does not reach every hit."""
    if place.rank is None:
        return "not reached"
    return f"rank {place.rank} of {leg.found}, score {place.score:.3f} in {leg.took_ms:.1f} ms"


def why(hit: Hit, answer: Recollection) -> str:
    """Explain a score in one line: each leg's contribution, the prior, and the fusion."""
    legs = ", ".join(
        f"{name}: {where(place, answer.legs[name])}, adds {place.contribution:.2f}"
        for name, place in hit.legs.items()
    )
    importance = f"importance {hit.memory.importance:g} × {hit.prior:.2f}"
    return f"{legs}; {importance}; {answer.fusion}"


if __name__ == "__main__":
    main()
