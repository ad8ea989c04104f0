"""How long a hook delays a prompt: whole calls of `recollect hook recall`, timed from outside.

A call is timed as an agent sees it: from before its process starts until its output is read and its
exit code is known. Each state has a store of its own, and the calls of a state ask different
questions in different sessions, so that each has something to find and to inject.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from time import perf_counter, sleep
from typing import Final

from recollect.adapters.files.hook_log import HookLog
from recollect.adapters.resident import socket_path
from recollect.core.memory.memory import Draft
from recollect.ports.service import Service
from recollect.settings import Settings
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker
from recollect.wiring.local import open_local
from recollect_bench.speed.corpus import Corpus

# As an agent runs it; as a module if the command is not installed.
_INSTALLED: Final = Path(sys.executable).with_name("recollect")
RECOLLECT: Final = (
    (str(_INSTALLED),) if _INSTALLED.exists() else (sys.executable, "-m", "recollect.main")
)
COMMAND: Final = (*RECOLLECT, "hook", "recall")
Progress = Callable[[str, int, int], None]
# A generous limit for a process that should end by itself: past it, something is broken.
_TIMEOUT_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class HookResult:
    """One state. `answered` counts calls that printed something, `by_session` those answered by
    meaning, by the session that holds the model, `over_budget` those that took longer than the
    budget.
    """

    state: str
    calls: int
    p50_ms: float
    p95_ms: float
    max_ms: float
    nonzero_exits: int
    over_budget: int
    answered: int
    by_session: int


@dataclass(frozen=True, slots=True)
class Call:
    ms: float
    exit_code: int
    answered: bool
    by_session: bool = False


def time_calls(
    state: str,
    calls: int,
    variables: Mapping[str, str],
    questions: Sequence[str],
    progress: Progress,
    prepare: Callable[[], None] = lambda: None,
) -> list[Call]:
    """Time one call after the other; `prepare` runs before each, untimed."""
    done: list[Call] = []
    for number in range(calls):
        prepare()
        event = {
            "session_id": f"{state}-{number}",
            "hook_event_name": "UserPromptSubmit",
            "cwd": variables["RECOLLECT_HOME"],
            "prompt": questions[number % len(questions)],
        }
        done.append(_call(json.dumps(event).encode(), variables))
        progress(state, number + 1, calls)
    return done


def _call(event: bytes, variables: Mapping[str, str]) -> Call:
    started = perf_counter()
    done = subprocess.run(  # noqa: S603  # our own command
        COMMAND,
        input=event,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(variables),
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    ms = (perf_counter() - started) * 1000
    logged = HookLog(f"{variables['RECOLLECT_HOME']}/hooks").last_lines(1)
    by_session = any("(by meaning)" in line for line in logged)
    return Call(ms, done.returncode, bool(done.stdout), by_session)


def summarize(state: str, calls: Sequence[Call], budget_ms: float) -> HookResult:
    times = [call.ms for call in calls]
    cuts = quantiles(times, n=20, method="inclusive") if len(times) > 1 else times * 19
    return HookResult(
        state=state,
        calls=len(calls),
        p50_ms=round(cuts[9], 1),
        p95_ms=round(cuts[18], 1),
        max_ms=round(max(times), 1),
        nonzero_exits=sum(call.exit_code != 0 for call in calls),
        over_budget=sum(call.ms > budget_ms for call in calls),
        answered=sum(call.answered for call in calls),
        by_session=sum(call.by_session for call in calls),
    )


async def fill(recollect: Service, corpus: Corpus, rows: int, progress: Progress) -> list[str]:
    """Store memories without a project, so that a hook in any folder finds them; return questions
    about some of them.
    """
    texts: list[str] = []
    for number, memory in enumerate(corpus.memories(0, rows)):
        await recollect.remember(Draft(memory.content, tags=memory.tags))
        texts.append(memory.content)
        progress("storing", number + 1, rows)
    step = max(len(texts) // 50, 1)
    return [f"what do we know: {text[:200]}" for text in texts[::step]]


async def embed_all(settings: Settings) -> None:
    """Embed a local store; raise InvalidInput or ModelUnavailable without a model."""
    async with open_local(settings) as local:
        await Worker(EmbeddingStep(local.embedding)).work_off()


@contextmanager
def session(variables: Mapping[str, str]) -> Iterator[None]:
    """Inside the block, run `recollect mcp` as an agent does; it holds the model."""
    home = variables["RECOLLECT_HOME"]
    with subprocess.Popen(  # noqa: S603  # our own command
        (*RECOLLECT, "mcp"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=dict(variables),
    ) as process:
        started = perf_counter()
        try:
            while not _is_listening(home):
                if process.poll() is not None or perf_counter() - started > _TIMEOUT_SECONDS:
                    raise RuntimeError("`recollect mcp` does not answer hooks")
                sleep(_POLL_SECONDS)
            yield
        finally:
            process.communicate()


def _is_listening(home: str) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(socket_path(home)) == 0


def forget_pages(*folders: Path) -> None:
    """Drop these files from the page cache, for a cold start."""
    for folder in folders:
        for file in folder.rglob("*"):
            if file.is_file():
                with suppress(OSError), file.open("rb") as opened:
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def stalling_server() -> Iterator[str]:
    """Run a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=1_000) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def as_document(results: Sequence[HookResult], budget_ms: int, rows: int) -> dict[str, object]:
    return {
        "budget_ms": budget_ms,
        "memories": rows,
        "results": [asdict(result) for result in results],
    }
