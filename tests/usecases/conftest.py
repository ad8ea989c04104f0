"""The use cases on the reference store: a clock that advances a second at every look, and a loop
whose time passes only while nothing else happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from tests.clocks import IdleClock
from tests.strategies import MOMENT

from recollect.core.memory.memory import Limits
from recollect.usecases.context import Context
from recollect.usecases.recall.lexical import lexical_leg
from recollect_bench.in_memory import InMemoryStore


@pytest.fixture(scope="package")
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": IdleClock}


@dataclass
class TickingClock:
    moment: datetime = MOMENT

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment


def build_context(store: InMemoryStore) -> Context:
    return Context(
        store=store,
        settings=store,
        clock=TickingClock(),
        legs={"lexical": lexical_leg(store)},
        limits=Limits(content=200),
    )


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def context(store: InMemoryStore) -> Context:
    return build_context(store)
