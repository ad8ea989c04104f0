"""Several clients and one real server on a real Postgres, in any order of events: writes, edits,
deletes, offline spells, lost answers, repeated and late deliveries, crashes before and after every
call to disk or network, clocks that are wrong by hours.

RECOLLECT_TEST_EFFORT multiplies the number of histories. The test prints how many steps and calls
it ran.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from psycopg.rows import dict_row
from tests.effort import scaled
from tests.serving import Running
from tests.sync.clients import Client, Crashed, SkewedClock, settle
from tests.sync.machine import Ledger, tokens_in, tokens_of

from recollect.adapters.postgres.rows import to_memory
from recollect.core.errors import Conflict, NotFound, StoreUnavailable
from recollect.core.memory.links import KINDS, Link
from recollect.core.memory.memory import Changes, Draft, Memory
from recollect.core.sync.model import ChangePage

HISTORIES = scaled(20)
STEPS = 25
# So small that the few memories of a history fill several pages.
PAGE = 3
SKEWS = (timedelta(), timedelta(hours=-7), timedelta(hours=9))
ran: Counter[str] = Counter()

clients = st.sampled_from(range(len(SKEWS)))
places = st.integers(0, 20)
crashes = st.tuples(st.integers(1, 9), st.booleans())


class Apart(RuleBasedStateMachine):
    """Each history has an owner of its own."""

    server: ClassVar[Running]
    runner: ClassVar[asyncio.Runner]
    database: ClassVar[psycopg.Connection[dict[str, Any]]]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="recollect-machine-"))
        self.owner = f"machine {ran['histories']}"
        ran["histories"] += 1
        key = self.server.new_key(self.owner)
        self.ledger = Ledger()
        self.clients = [
            Client(
                self.folder / str(number),
                self.server.url,
                key,
                clock=SkewedClock(skew),
                page_size=PAGE,
            )
            for number, skew in enumerate(SKEWS)
        ]
        for client in self.clients:
            client.faults.spied = self.ledger.spy
            self.wait(client.open())
        self.held: dict[int, ChangePage] = {}
        self.settled_gone: set[UUID] = set()

    def wait(self, awaitable: Any) -> Any:
        async def result() -> Any:
            return await awaitable

        return self.runner.run(result())

    def pick(self, client: Client, place: int) -> Memory | None:
        listed = sorted(self.wait(client.listed()).values(), key=lambda memory: memory.id)
        return listed[place % len(listed)] if listed else None

    @rule(who=clients, sensitive=st.sampled_from([False, False, False, True]))
    def remember(self, who: int, sensitive: bool) -> None:
        ran["steps"] += 1
        token = self.ledger.token(sensitive=sensitive)
        draft = Draft(f"note {token}", is_sensitive=sensitive)
        memory = self.wait(self.clients[who].service.remember(draft))
        self.ledger.record_write(memory, token)

    @rule(who=clients, place=places, what=st.sampled_from(["content", "tags", "both", "secret"]))
    def edit(self, who: int, place: int, what: str) -> None:
        ran["steps"] += 1
        client = self.clients[who]
        memory = self.pick(client, place)
        if memory is None:
            return
        is_secret = what == "secret" or memory.is_sensitive
        changes, over, new = Changes(), set[str](), []
        if what != "tags":
            new.append(self.ledger.token(sensitive=is_secret))
            changes["content"] = f"edited {new[-1]}"
            over |= tokens_in(memory.content)
        if what in ("tags", "both"):
            new.append(self.ledger.token(sensitive=is_secret))
            changes["tags"] = (new[-1],)
            over |= tokens_in(memory.tags)
        if what == "secret":
            changes["is_sensitive"] = True
        self.wait(client.service.update(str(memory.id), changes))
        self.ledger.record_write(memory, *new)
        self.ledger.superseded |= over

    @rule(who=clients, place=places, end=places, kind=st.sampled_from(KINDS))
    def link_or_unlink(self, who: int, place: int, end: int, kind: str) -> None:
        """Link two memories, or unlink them if they are linked. A link holds no token; the check is
        that both sides agree on it in the end.
        """
        ran["steps"] += 1
        client = self.clients[who]
        memory = self.pick(client, place)
        if memory is None:
            return
        ran["links"] += 1
        known = [id for id in sorted(self.ledger.by_memory) if id != memory.id]
        target = [*known, UUID(int=7)][end % (len(known) + 1)]
        links = {*memory.links} ^ {Link(kind, target)}
        self.wait(client.service.update(str(memory.id), Changes(links=tuple(links))))

    @rule(who=clients, place=places, forever=st.booleans())
    def forget(self, who: int, place: int, forever: bool) -> None:
        ran["steps"] += 1
        client = self.clients[who]
        memory = self.pick(client, place)
        if memory is None:
            return
        self.ledger.superseded |= tokens_of(memory)
        if forever:
            revisions = self.wait(client.revisions()).values()
            mine = [revision.fields for revision in revisions if revision.memory_id == memory.id]
            self.ledger.superseded |= tokens_in(mine)
        self.wait(client.service.forget(str(memory.id), forever=forever))

    @rule(who=clients, place=places, other=st.booleans())
    def resolve(self, who: int, place: int, other: bool) -> None:
        ran["steps"] += 1
        client = self.clients[who]
        reports = self.wait(client.service.conflicts())
        if not reports:
            return
        report = reports[place % len(reports)]
        revision, current = report.revision, report.current
        saw = set[str]() if current is None else tokens_of(current)
        try:
            done = self.wait(
                client.service.resolve(str(revision.id), "other" if other else "current")
            )
        except (Conflict, NotFound):
            return
        if not other:
            self.ledger.superseded |= tokens_in(revision.fields)
            return
        self.settled_gone.discard(revision.memory_id)
        if revision.kind == "orphan":
            for memory in self.wait(client.listed()).values():
                for token in tokens_of(memory) & tokens_in(revision.fields):
                    self.ledger.record_write(memory, token)
            return
        now = set[str]() if done.current is None else tokens_of(done.current)
        self.ledger.superseded |= saw - now
        if revision.kind == "erase":
            revisions = self.wait(client.revisions()).values()
            self.ledger.superseded |= tokens_in(
                [
                    other_revision.fields
                    for other_revision in revisions
                    if other_revision.memory_id == revision.memory_id
                ]
            )

    @rule(who=clients)
    def sync(self, who: int) -> None:
        self.run_engine(who, None, "sync")

    @rule(who=clients, fault=crashes, way=st.sampled_from(["sync", "push", "pull"]))
    def sync_and_crash(self, who: int, fault: tuple[int, bool], way: str) -> None:
        """Crash before or after any call to disk or network."""
        self.run_engine(who, fault, way)

    @rule(who=clients, fault=crashes)
    def push_and_crash(self, who: int, fault: tuple[int, bool]) -> None:
        self.run_engine(who, fault, "push")

    def run_engine(self, who: int, fault: tuple[int, bool] | None, way: str) -> None:
        ran["steps"] += 1
        client = self.clients[who]
        self.held.pop(who, None)
        faults = client.faults
        faults.calls, (faults.at, faults.after) = 0, fault or (None, False)
        before = faults.total
        try:
            self.wait(getattr(client, way)())
        except StoreUnavailable:
            ran["broken connections"] += 1
        except Crashed:
            ran["crashes"] += 1
            self.wait(client.crash())
        finally:
            faults.at = None
            ran["calls"] += faults.total - before

    @rule(who=clients)
    def read_a_page_and_wait(self, who: int) -> None:
        """Read a page that arrives only after other steps."""
        ran["steps"] += 1
        client = self.clients[who]

        async def read() -> ChangePage:
            store, cursor = await client.sync_store.store_id(), await client.sync_store.cursor()
            page = await client.remote.pull(store, cursor, PAGE, count=False)
            await client.sync_store.bind_to(page.peer)
            return page

        with suppress(StoreUnavailable):
            self.held[who] = self.wait(read())

    @rule(who=clients)
    def the_page_arrives(self, who: int) -> None:
        ran["steps"] += 1
        page = self.held.pop(who, None)
        if page is not None:
            self.wait(self.clients[who].sync_store.apply_page(page))

    @rule(who=clients, place=places)
    def an_old_push_arrives_again(self, who: int, place: int) -> None:
        ran["steps"] += 1
        client = self.clients[who]
        pushes = client.faults.pushes
        if pushes:
            items, revisions = pushes[place % len(pushes)]

            async def again() -> None:
                await client.remote.push(await client.sync_store.store_id(), items, revisions)

            with suppress(StoreUnavailable):
                self.wait(again())

    @rule()
    def all_come_to_rest(self) -> None:
        ran["steps"] += 1
        self.held.clear()
        self.wait(settle(*self.clients))
        self.check()

    def teardown(self) -> None:
        try:
            self.held.clear()
            self.wait(settle(*self.clients))
            self.check()
        finally:
            for client in self.clients:
                self.wait(client.close())
            shutil.rmtree(self.folder)

    def check(self) -> None:
        ran["checks"] += 1
        with self.database.transaction():
            rows = self.database.execute(
                "select * from memories where owner = %s", (self.owner,)
            ).fetchall()
            erased = self.database.execute(
                "select memory_id from changes where owner = %s and erased_at is not null",
                (self.owner,),
            ).fetchall()
            revisions = self.database.execute(
                "select * from revisions where owner = %s", (self.owner,)
            ).fetchall()
        there = {row["id"]: to_memory({**row, "owner": "me"}) for row in rows}
        here = [self.wait(client.all()) for client in self.clients]
        local_revisions = [self.wait(client.revisions()) for client in self.clients]
        self.converged(there, here, revisions, local_revisions)
        self.nothing_lost(
            there, here, revisions, local_revisions, {row["memory_id"] for row in erased}
        )
        self.no_resurrection(there, here)
        self.sensitive_stays_home(rows, revisions)

    def converged(self, there: Any, here: Any, revisions: Any, local_revisions: Any) -> None:
        private = {
            id for side in (there, *here) for id, memory in side.items() if memory.is_sensitive
        }
        public = {id: memory for id, memory in there.items() if id not in private}
        for side in here:
            assert {id: memory for id, memory in side.items() if id not in private} == public
        open_ = {
            revision["id"]
            for revision in revisions
            if revision["resolved_at"] is None and revision["memory_id"] not in private
        }
        for side in local_revisions:
            shown = {
                id
                for id, revision in side.items()
                if revision.kind != "orphan" and revision.memory_id not in private
            }
            assert shown == open_

    def nothing_lost(
        self, there: Any, here: Any, revisions: Any, local_revisions: Any, erased: set[UUID]
    ) -> None:
        found = tokens_in([revision["fields"] for revision in revisions])
        for side in local_revisions:
            found |= tokens_in([revision.fields for revision in side.values()])
        for side in (there, *here):
            for memory in side.values():
                found |= tokens_of(memory)
        assert self.ledger.must_be_found(erased) <= found

    def no_resurrection(self, there: Any, here: Any) -> None:
        for side in (there, *here):
            listed = {id for id, memory in side.items() if memory.deleted_at is None}
            assert not listed & self.settled_gone
        private = {
            id for side in (there, *here) for id, memory in side.items() if memory.is_sensitive
        }
        everywhere = set(self.ledger.by_memory) - private
        for side in (there, *here):
            everywhere -= {id for id, memory in side.items() if memory.deleted_at is None}
        self.settled_gone |= everywhere

    def sensitive_stays_home(self, rows: Any, revisions: Any) -> None:
        everything = tokens_in(rows, revisions) | self.ledger.sent
        assert not {token for token in everything if token.startswith("zqs")}


@pytest.fixture(scope="module")
def machine(server: Running) -> Iterator[type[Apart]]:
    class ApartFromThisServer(Apart):
        pass

    ApartFromThisServer.server = server
    secret = server.server.settings.database_url
    assert secret is not None
    with (
        asyncio.Runner() as runner,
        psycopg.connect(secret.get_secret_value(), row_factory=dict_row) as database,
    ):
        ApartFromThisServer.runner = runner
        ApartFromThisServer.database = database
        yield ApartFromThisServer


def test_any_history_converges_and_loses_nothing(
    machine: type[Apart], capsys: pytest.CaptureFixture[str]
) -> None:
    ran.clear()
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    with capsys.disabled():
        sys.stderr.write(f"\nsync state machine: {dict(ran)}\n")
    assert ran["checks"] >= HISTORIES
