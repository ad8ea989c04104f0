"""The use cases on the reference store: a clock that moves a second at every look, and a loop whose
time passes only while nothing else happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from tests.clocks import IdleClock
from tests.strategies import MOMENT

from recollect.adapters.in_memory import InMemoryStore
from recollect.core.memory.memory import Limits
from recollect.usecases.context import Parts
from recollect.usecases.recall.lexical import lexical_leg


@pytest.fixture(scope="package")
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": IdleClock}


@dataclass
class TickingClock:
    moment: datetime = MOMENT

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment


def parts_on(store: InMemoryStore) -> Parts:
    return Parts(
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
def parts(store: InMemoryStore) -> Parts:
    return parts_on(store)
