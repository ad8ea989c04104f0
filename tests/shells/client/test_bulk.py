"""Many memories in and out through the clients, on each kind of store."""

from __future__ import annotations

import io
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.strategies import new_id
from tests.waiting import SECONDS

from recollect import AsyncClient, Client, Draft, InvalidInput, NotAllowed, Remembered, Scope
from recollect.core.memory.batch import MAX_BATCH
from recollect.shells.client.asynchronous import Options


def outcomes(results: list[Remembered]) -> list[str]:
    return [result.outcome for result in results]


def test_texts_drafts_and_dicts_are_stored_together(options: Options) -> None:
    items: list[Any] = [
        "Nadia prefers tea.",
        Draft("Releases go out on Tuesdays.", category="procedure"),
        {"content": "The office is in Odense.", "tags": ("office",), "project": "p"},
        {"content": "A slip.", "importnce": 1},
        " ",
        7,
    ]
    with Client(**options) as memory:
        results = memory.remember_many(item for item in items)
        assert outcomes(results) == ["stored"] * 3 + ["refused"] * 3
        assert [getattr(result.error, "field", None) for result in results[3:]] == [
            "importnce",
            "content",
            "memory",
        ]
        assert memory.get(str(results[2].id)).tags == ("office",)
        assert memory.get(str(results[1].id)).category == "procedure"
        listed = [stored.content for stored in memory.page().memories]
        assert listed == ["The office is in Odense.", items[1].content, items[0]]


def test_remember_many_reads_batches_as_it_stores_them(options: Options) -> None:
    total = MAX_BATCH * 2 + 10
    read: list[int] = []
    done: list[int] = []

    def facts() -> Iterator[dict[str, Any]]:
        for number in range(total):
            read.append(number)
            yield {"content": f"fact {number}", "id": ids[number]}

    ids = [str(new_id()) for _ in range(total)]
    with Client(**options) as memory:
        results = memory.remember_many(
            facts(), on_batch=lambda batch: done.append(len(read) - len(batch))
        )
        assert outcomes(results) == ["stored"] * total
        assert done == [0, MAX_BATCH, MAX_BATCH * 2]
        assert [str(result.id) for result in results] == ids
        assert outcomes(memory.remember_many(facts())) == ["present"] * total
        newest = [stored.content for stored in memory.iter_memories()]
        assert newest == [f"fact {number}" for number in reversed(range(total))]
        scoped = list(memory.iter_memories(Scope(tags=("none",))))
        assert scoped == []


def test_a_generator_may_use_the_client_it_is_stored_with(tmp_path: Path) -> None:
    with Client(home=tmp_path) as memory:
        memory.remember_many(["tea", "coffee"])
        copied = memory.remember_many(f"hot {stored.content}" for stored in memory.iter_memories())
        assert outcomes(copied) == ["stored"] * 2


def test_texts_too_large_for_one_request_go_in_several(options: Options) -> None:
    with Client(**options) as memory:
        results = memory.remember_many(f"{number} {'ü' * 7_900}" for number in range(40))
        assert outcomes(results) == ["stored"] * 40


@pytest.mark.anyio
async def test_the_async_client_takes_both_kinds_of_iterables(options: Options) -> None:
    async def coming() -> AsyncIterator[str]:
        for number in range(MAX_BATCH + 1):
            yield f"fact {number}"

    async with AsyncClient(**options) as memory:
        assert len(await memory.remember_many(coming())) == MAX_BATCH + 1
        assert len(await memory.remember_many(["one more"])) == 1
        assert len([stored async for stored in memory.iter_memories()]) == MAX_BATCH + 2


def test_a_single_memory_is_not_taken_for_a_list(tmp_path: Path) -> None:
    single: Any
    with Client(home=tmp_path) as memory:
        for single in ("tea", {"content": "tea"}):
            with pytest.raises(InvalidInput, match="not several"):
                memory.remember_many(single)
        assert memory.stats().memories == 0


def test_links_and_an_audit(options: Options) -> None:
    with Client(**options) as memory:
        old, new, twin = (
            memory.remember(text)
            for text in ("The port is 80.", "The port is 443.", "the port is 443.")
        )
        linked = memory.link(new.id, "supersedes", old.id)
        assert [link.target for link in linked.links] == [old.id]
        (finding,) = memory.audit(kinds=["duplicate"])
        assert set(finding.ids) == {new.id, twin.id}
        assert memory.unlink(new.id, "supersedes", old.id).links == ()
        with pytest.raises(InvalidInput) as refused:
            memory.audit(kinds=["colour"])
        assert refused.value.field == "kind"


def test_what_is_exported_comes_in_again(options: Options, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    with Client(**options) as memory:
        memory.remember_many(["tea", {"content": "hidden", "is_sensitive": True}])
        report = memory.export(file)
        assert (report.exported, report.left_out) == (1, 1)
        with pytest.raises(InvalidInput, match="already"):
            memory.export(file)
        held = io.BytesIO()
        assert memory.export(held, sensitive=True).exported == 2
        assert memory.export(file, sensitive=True, overwrite=True).exported == 2
        assert file.read_bytes() == held.getvalue()
        again = memory.import_(file)
        assert (again.new, again.same, again.failures) == (0, 2, [])
    with Client(home=tmp_path / "empty") as other:
        assert other.import_(file, dry_run=True).new == 2
        assert other.stats().memories == 0
        assert other.import_(str(file)).new == 2
        assert other.stats().memories == 2
        with pytest.raises(InvalidInput, match="unknown format"):
            other.import_(file, format="nonsense")


def test_many_need_a_key_and_an_open_client(options: Options) -> None:
    client = Client(**options)
    for ask in (
        lambda: client.remember_many(["tea"]),
        lambda: list(client.iter_memories()),
        lambda: client.audit(),
        lambda: client.export("never"),
        lambda: client.import_("never"),
    ):
        with pytest.raises(InvalidInput, match="not open"):
            ask()
    if "url" in options and "sync" not in options:
        stranger = Options(url=options["url"], key="rk_nobody")
        with Client(**stranger) as memory, pytest.raises(NotAllowed):
            memory.remember_many(["tea"])


# Prints after each batch how many memories are acknowledged.
WRITER = """
import itertools, sys
from recollect import Client

acknowledged = 0

def tell(batch):
    global acknowledged
    acknowledged += sum(result.outcome == "stored" for result in batch)
    print(acknowledged, flush=True)

with Client(home=sys.argv[1]) as memory:
    texts = (f"fact {number}" for number in itertools.count())
    memory.remember_many(texts, on_batch=tell)
"""


def test_an_acknowledged_batch_survives_a_kill(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    counts = [int(writer.stdout.readline()) for _ in range(3)]
    writer.send_signal(signal.SIGKILL)
    counts += [int(line) for line in writer.stdout.read().split()]
    writer.wait(SECONDS)
    writer.stdout.close()
    with closing(sqlite3.connect(tmp_path / "memories.db")) as file:
        (stored,) = file.execute("SELECT count(*) FROM memories").fetchone()
    assert stored >= counts[-1] >= 3 * MAX_BATCH
    assert stored % MAX_BATCH == 0
