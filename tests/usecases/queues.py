"""A queue and embedders in memory: other implementations of the ports, easy to inspect."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from recollect.core.errors import Conflict, InvalidInput, ModelUnavailable, StoreError
from recollect.core.recall.passages import PassageVector
from recollect.core.recall.space import EmbeddingJob, EmbeddingProgress, Gap, Space, StoredSpace
from recollect.ports.embedding import NO_PASSAGES, NO_TOKENS, Embedder, Passages, Tokens
from recollect.usecases.workers.embed import EmbeddingContext

MAX_ATTEMPTS = 3
DIMENSION = 2


def ticket(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Row:
    """What the queue knows about one text in one space."""

    vector: tuple[str, list[float]] | None = None  # with the ticket of the text it was computed for
    attempts: int = 0
    error: str | None = None
    claimed: bool = False


@dataclass
class InMemoryQueue:
    """Implements `EmbeddingQueue`. `texts` are the memories; claims lapse when a test says so."""

    texts: dict[UUID, str] = field(default_factory=dict)
    known: list[StoredSpace] = field(default_factory=list)
    rows: dict[tuple[int, UUID], Row] = field(default_factory=dict)
    troubles: dict[int, str] = field(default_factory=dict)
    indexed: set[int] = field(default_factory=set)
    kept: list[tuple[int, UUID]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    claims: int = 0
    refuses: set[UUID] = field(default_factory=set)
    passages: dict[UUID, list[PassageVector]] = field(default_factory=dict)
    tokens: dict[UUID, list[bytes]] = field(default_factory=dict)
    delays: bool = False  # a failed text can be claimed again only after a while
    is_soon: bool = False  # and that while is short
    on_wait: Callable[[], None] = lambda: None

    def row(self, space: StoredSpace, id: UUID) -> Row:
        return self.rows.setdefault((space.id, id), Row())

    def lapse(self) -> None:
        """Make every claim as old as one of a worker that died."""
        for row in self.rows.values():
            row.claimed = False

    def has(self, space: StoredSpace, id: UUID) -> bool:
        row = self.row(space, id)
        return row.vector is not None and row.vector[0] == ticket(self.texts[id])

    async def spaces(self) -> list[StoredSpace]:
        return list(self.known)

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        for place, one in enumerate(self.known):
            if one.space.name == space.name:
                if one.state == "retired":
                    self.known[place] = replace(one, state="filling")
                return self.known[place]
        active = any(known.state == "active" for known in self.known)
        state = "filling" if active else "active"
        number = max((known.id for known in self.known), default=0) + 1
        self.known.append(StoredSpace(number, embedder, space, "filling" if active else "active"))
        assert self.known[-1].state == state
        return self.known[-1]

    async def claim(
        self, space: StoredSpace, limit: int, max_bytes: int | None = None
    ) -> list[EmbeddingJob]:
        self._check(space)
        self.claims += 1
        jobs: list[EmbeddingJob] = []
        for id, text in self.texts.items():
            row = self.row(space, id)
            free = not row.claimed and row.attempts < MAX_ATTEMPTS
            free = free and (max_bytes is None or len(text.encode()) <= max_bytes)
            if free and not self.has(space, id) and len(jobs) < limit:
                row.claimed, row.error = True, None
                jobs.append(EmbeddingJob(id, "ada", ticket(text), text))
        return jobs

    async def finish(
        self,
        space: StoredSpace,
        done: Sequence[tuple[EmbeddingJob, Sequence[float]]],
        passages: Passages = NO_PASSAGES,
        tokens: Tokens = NO_TOKENS,
    ) -> int:
        self._check(space)
        self.tokens |= {job.memory_id: [*blocks] for job, blocks in tokens.items()}
        self.passages |= {job.memory_id: [*parts] for job, parts in passages.items()}
        if any(job.memory_id in self.refuses for job, _ in done):
            raise StoreError("refused", remedy="look")
        kept = 0
        for job, vector in done:
            row = self.row(space, job.memory_id)
            row.claimed = False
            if ticket(self.texts.get(job.memory_id, "")) == job.ticket:
                row.vector, row.error = (job.ticket, list(vector)), None
                self.kept.append((space.id, job.memory_id))
                kept += 1
        self.troubles.pop(space.id, None)
        return kept

    async def token_bytes(self, space: StoredSpace, owner: str) -> int:
        self._check(space)
        return sum(len(block) for blocks in self.tokens.values() for block in blocks)

    async def fail(self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str) -> None:
        for job in jobs:
            row = self.row(space, job.memory_id)
            row.claimed, row.attempts, row.error = self.delays, row.attempts + 1, error

    async def select_unchanged(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob]
    ) -> list[EmbeddingJob]:
        self._check(space)
        return [job for job in jobs if ticket(self.texts.get(job.memory_id, "")) == job.ticket]

    async def give_back(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str | None = None
    ) -> None:
        for job in jobs:
            self.row(space, job.memory_id).claimed = False
        if error is not None:
            self.troubles[space.id] = error

    async def clear_error(self, space: StoredSpace) -> None:
        self.troubles.pop(space.id, None)

    async def retry_parked(self, space: StoredSpace) -> int:
        failed = [row for (number, _), row in self.rows.items() if number == space.id and row.error]
        for row in failed:
            row.attempts, row.claimed = 0, False
        return len(failed)

    async def progress(self, space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
        missing = [self.row(space, id) for id in self.texts if not self.has(space, id)]
        parked = sum(row.attempts >= MAX_ATTEMPTS for row in missing)
        failing = sum(
            row.claimed and row.error is not None and row.attempts < MAX_ATTEMPTS for row in missing
        )
        errors = [row.error for row in missing if row.error]
        return EmbeddingProgress(
            embedded=len(self.texts) - len(missing),
            waiting=len(missing) - parked,
            parked=parked,
            last_error=self.troubles.get(space.id) or (errors[-1] if errors else None),
            failing=failing,
            soon=failing if self.is_soon else 0,
        )

    async def wait_for_work(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.on_wait()
        await asyncio.sleep(0)

    async def build_indexes(self, space: StoredSpace) -> None:
        self._check(space)
        self.indexed.add(space.id)

    async def pending_indexes(self, space: StoredSpace) -> int:
        return int(space.id not in self.indexed)

    async def gap(self, space: StoredSpace) -> Gap:
        (active,) = [known for known in self.known if known.state == "active"]
        missing = [
            self.row(space, id)
            for id in self.texts
            if self.has(active, id) and not self.has(space, id)
        ]
        return Gap(len(missing), sum(row.error is not None for row in missing))

    async def activate(self, space: StoredSpace) -> None:
        self._check(space)
        if any(known.id == space.id and known.state == "active" for known in self.known):
            return
        self.known = [
            replace(known, state="active", is_former=False)
            if known.id == space.id
            else replace(known, state="retired", is_former=True)
            if known.state == "active"
            else replace(known, is_former=False)
            for known in self.known
        ]

    async def retire(self, space: StoredSpace) -> None:
        self.known = [
            replace(known, state="retired") if known.id == space.id else known
            for known in self.known
        ]

    async def drop_space(self, space: StoredSpace) -> None:
        (found,) = [known for known in self.known if known.id == space.id]
        if space.is_given_up and not found.is_given_up:
            raise Conflict("in use again", remedy="look")
        self.known = [known for known in self.known if known.id != space.id]
        self.rows = {key: row for key, row in self.rows.items() if key[0] != space.id}

    def _check(self, space: StoredSpace) -> None:
        if all(known.id != space.id for known in self.known):
            raise StoreError("no such space", remedy="look")


@dataclass
class Model:
    """An embedder in memory: texts in `poison` fail alone, `down` fails everything."""

    name: str
    dimension: int = DIMENSION
    poison: dict[str, Exception] = field(default_factory=dict)
    down: ModelUnavailable | None = None
    answers: int | None = None  # the dimension of its vectors
    is_hosted: bool = False
    most: int = 1000  # the number of texts at once
    asked: list[list[str]] = field(default_factory=list)
    on_texts: Callable[[Sequence[str]], None] = lambda _: None
    hanging: asyncio.Event | None = None

    @property
    def space(self) -> Space:
        return Space(self.name, "1", self.dimension)

    def at_once(self, texts: Sequence[str]) -> int:
        return min(len(texts), self.most)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        if self.down is not None:
            raise self.down
        if self.hanging is not None:
            self.hanging.set()
            await asyncio.Event().wait()
        for text in texts:
            if text in self.poison:
                raise self.poison[text]
        self.on_texts(texts)
        return [[1.0] * (self.answers or self.dimension) for _ in texts]

    async def embed_query(self, text: str) -> list[float]:
        return [1.0] * self.dimension


@dataclass
class Models:
    """Implements `Embedders`."""

    by_name: dict[str, Model | Exception] = field(default_factory=dict)

    async def embedder(self, name: str) -> Embedder:
        found = self.by_name.get(name)
        if found is None:
            raise InvalidInput(f"no model {name}", field="model", remedy="look")
        if isinstance(found, Exception):
            raise found
        return found


@dataclass
class Time:
    """A clock that only waiting moves."""

    moment: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += seconds
        await asyncio.sleep(0)


def parts_with(queue: InMemoryQueue, *models: Model, default: str = "") -> EmbeddingContext:
    named: dict[str, Model | Exception] = {model.name: model for model in models}
    return EmbeddingContext(queue, Models(named), default or models[0].name)
