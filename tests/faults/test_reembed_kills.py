"""`recollect reembed` killed with SIGKILL at each of its steps: recall goes on in exactly one
space, the same command again finishes, and the way back leads to the model before.

The processes are real, and so are Postgres, the signals and the server that embeds.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from tests.conformance.samples import OWNER, memory
from tests.effort import sample
from tests.loopback import Loopback
from tests.processes import environment, program
from tests.waiting import DEFAULT_SETTINGS, wait_until

from recollect.adapters.models.embedders.catalogue import Account, Catalogue
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import Conflict
from recollect.core.recall.request import LegName, RecallRequest
from recollect.ports.recall import Leg
from recollect.usecases.context import Context
from recollect.usecases.recall.dense import dense_leg
from recollect.usecases.service import LocalService
from recollect.usecases.workers import reembed
from recollect.usecases.workers.embed import BATCH, EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker
from recollect.wiring.context import SystemClock

pytestmark = pytest.mark.anyio

A, B, C = (f"compatible/{letter}@8" for letter in "abc")
COUNT = BATCH + 8  # two batches: a space can be half full

# A method of the vectors, and whether the kill is before it, after it or inside its transaction.
Step = tuple[str, str]
BEFORE_THE_SWITCH: dict[str, Step] = {
    "switching": ("activate", "inside"),
    "opened": ("open_space", "after"),
    "claimed": ("claim", "after"),
    "half filled": ("finish", "after"),
    "indexed": ("build_indexes", "after"),
}
AFTER_THE_SWITCH: dict[str, Step] = {
    "switched": ("activate", "after"),
    "given up": ("drop_indexes", "before"),
    "half removed": ("remove_some", "after"),
}


STOPPING = """
import json
from tests.faults.stopping import run
run(json.loads(sys.argv[1]), *sys.argv[2:])
"""


@dataclass(frozen=True)
class Commands:
    """Runs the command on a database in processes that stop at a given step."""

    settings: dict[str, str]

    def kill(self, *run: str, step: Step) -> None:
        """Kill a command at its step."""
        with self.killing(*run, step=step) as process:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline()) == step[0]

    @contextmanager
    def killing(self, *run: str, step: Step | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command that is killed on leaving the context."""
        with subprocess.Popen(
            program(STOPPING, json.dumps(step), *run),
            stdout=subprocess.PIPE,
            env=environment(**self.settings),
        ) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback("compatible") as started:
        yield started


@pytest.fixture
def commands(database_url: str, server: Loopback, tmp_path: Path) -> Commands:
    settings = {
        "RECOLLECT_HOME": str(tmp_path),
        "RECOLLECT_DATABASE_URL": database_url,
        "RECOLLECT_EMBEDDER": A,
        "RECOLLECT_COMPATIBLE_URL": server.base_url,
    }
    return Commands(settings)


@dataclass(frozen=True)
class House:
    """A database on which the model was changed once, from A to B."""

    database_url: str
    server: Loopback
    context: EmbeddingContext
    store: PostgresStore

    def space_states(self) -> dict[str, str]:
        """Return the state of each space, after checking that nothing is left of others."""
        with psycopg.connect(self.database_url) as connection:
            found = connection.execute(
                "select embedder, case when is_former then 'former' else state end, id from spaces"
            ).fetchall()
            vectors = connection.execute("select distinct space_id from embeddings").fetchall()
            indexes = connection.execute(
                "select relname from pg_class where relname like 'embeddings_hnsw_%'"
            ).fetchall()
        known = {id for *_, id in found}
        assert {id for (id,) in vectors} <= known
        assert {int(name.split("_")[2]) for (name,) in indexes} <= known
        return {embedder: state for embedder, state, _ in found}

    async def recall_model(self) -> str:
        """Return the one model that a recall used; the recall must find every memory."""
        # A new leg, as in a new process: it has not chosen its model yet.
        assert self.store.vectors is not None
        leg = dense_leg(self.store.vectors, self.context.embedders)
        legs: dict[LegName, Leg] = {"dense": leg}
        context = Context(
            self.store, self.store, SystemClock(), legs, default_settings=DEFAULT_SETTINGS
        )
        self.server.requests.clear()
        request = RecallRequest("memory number 7", limit=COUNT)
        answer = await LocalService(context, OWNER).recall(request)
        assert answer.legs["dense"].status == "ran", answer.legs
        assert len({hit.memory.id for hit in answer.hits}) == COUNT
        (model,) = {request.body["model"] for request in self.server.requests}
        return f"compatible/{model}@8"


@asynccontextmanager
async def changed_once(database_url: str, server: Loopback) -> AsyncIterator[House]:
    accounts = {"compatible": Account(None, server.base_url)}
    async with (
        PostgresStore(
            database_url, timeouts=Timeouts(lease=1.0), limits=Limits(index_rows=0)
        ) as store,
        Catalogue(Path("/"), accounts=accounts) as embedders,
    ):
        assert store.vectors is not None
        context = EmbeddingContext(store.vectors, embedders, A)
        await store.add_many([memory(n, f"memory number {n}") for n in range(1, COUNT + 1)])
        await Worker(EmbeddingStep(context)).work_off()
        await reembed.reembed(context, B)
        house = House(database_url, server, context, store)
        assert house.space_states() == {A: "former", B: "active"}
        yield house


Test = Callable[[House], Awaitable[None]]


async def in_a_house(database_url: str, server: Loopback, test: Test) -> None:
    async with changed_once(database_url, server) as house:
        await test(house)


@pytest.mark.parametrize("step", sample([*BEFORE_THE_SWITCH, *AFTER_THE_SWITCH]))
async def test_a_killed_change_is_finished_by_the_same_command(
    database_url: str, server: Loopback, commands: Commands, step: str
) -> None:
    async def test(house: House) -> None:
        commands.kill("reembed", "--model", C, step={**BEFORE_THE_SWITCH, **AFTER_THE_SWITCH}[step])
        assert await house.recall_model() == (B if step in BEFORE_THE_SWITCH else C)
        await finish(house)

    await in_a_house(database_url, server, test)


async def finish(house: House) -> None:
    await reembed.reembed(house.context, C)
    assert house.space_states() == {B: "former", C: "active"}
    assert await house.recall_model() == C
    await reembed.rollback(house.context)
    assert house.space_states() == {B: "active", C: "former"}
    assert await house.recall_model() == B


async def test_a_change_killed_while_its_index_is_built_is_finished_by_the_same_command(
    database_url: str, server: Loopback, commands: Commands
) -> None:
    """An open write transaction blocks the build, which outlives the command."""

    async def test(house: House) -> None:
        with psycopg.connect(database_url) as writer:
            writer.execute("lock table embeddings in row exclusive mode")
            with (
                commands.killing("reembed", "--model", C),
                psycopg.connect(database_url, autocommit=True) as looking,
            ):
                building = (
                    "select from pg_stat_progress_create_index"
                    " where datname = current_database() and index_relid <> 0"
                )
                wait_until(lambda: looking.execute(building).fetchone() is not None)
            assert house.space_states() == {A: "former", B: "active", C: "filling"}
            assert await house.recall_model() == B
        await finish(house)

    await in_a_house(database_url, server, test)


@pytest.mark.parametrize("step", sample(["half filled", "switching"]))
async def test_a_change_killed_before_its_switch_is_cancelled_and_the_way_back_is_the_old_one(
    database_url: str, server: Loopback, commands: Commands, step: str
) -> None:
    async def test(house: House) -> None:
        commands.kill("reembed", "--model", C, step=BEFORE_THE_SWITCH[step])
        with pytest.raises(Conflict, match="is under way"):
            await reembed.rollback(house.context)
        commands.kill("reembed", "--cancel", step=("drop_indexes", "before"))
        assert house.space_states() == {A: "former", B: "active", C: "retired"}
        assert await house.recall_model() == B
        await reembed.rollback(house.context)
        assert house.space_states() == {A: "active", B: "former"}
        assert await house.recall_model() == A

    await in_a_house(database_url, server, test)


@pytest.mark.parametrize("step", sample(["switched", "half removed"]))
async def test_a_change_killed_after_its_switch_leads_back_to_the_model_before(
    database_url: str, server: Loopback, commands: Commands, step: str
) -> None:
    async def test(house: House) -> None:
        commands.kill("reembed", "--model", C, step=AFTER_THE_SWITCH[step])
        assert house.space_states() == {A: "retired", B: "former", C: "active"}
        await reembed.rollback(house.context)
        assert house.space_states() == {B: "active", C: "former"}
        assert await house.recall_model() == B

    await in_a_house(database_url, server, test)


@pytest.mark.parametrize("step", sample(["opened", "switching"]))
async def test_a_killed_way_back_is_finished_by_the_same_command_or_cancelled(
    database_url: str, server: Loopback, commands: Commands, step: str
) -> None:
    async def test(house: House) -> None:
        commands.kill("reembed", "--rollback", step=BEFORE_THE_SWITCH[step])
        assert await house.recall_model() == B
        if step == "opened":
            await reembed.cancel(house.context)
            assert house.space_states() == {A: "former", B: "active"}
        await reembed.rollback(house.context)
        assert house.space_states() == {A: "active", B: "former"}
        assert await house.recall_model() == A

    await in_a_house(database_url, server, test)
