"""Event loops whose clock the test controls: no timeout depends on how fast a machine is.

Real time passes on a busy machine whether or not a test gets to run; here it passes when nothing is
left to do, or when the test says so.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

Answer = TypeVar("Answer")
Ts = TypeVarTuple("Ts")


class _Skipping(selectors.SelectSelector):
    """Does not wait for a timer, but reports how long the wait would have been."""

    def __init__(self, skip: Callable[[float], None]) -> None:
        super().__init__()
        self._skip = skip
        self.in_threads: set[asyncio.Future[Any]] = set()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(None if self.in_threads else 0)
        if not ready:
            self._skip(timeout)
        return ready


class IdleClock(asyncio.SelectorEventLoop):
    """Its clock stops while there is anything to do, here or in a thread of an executor, and then
    jumps to the next timer. For tests without processes and sockets: it would not wait for those.
    """

    def __init__(self) -> None:
        self._moment = 0.0
        self._waiting = _Skipping(self._pass)
        super().__init__(self._waiting)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], Answer], *args: *Ts
    ) -> asyncio.Future[Answer]:
        working = super().run_in_executor(executor, func, *args)
        self._waiting.in_threads.add(working)
        working.add_done_callback(self._waiting.in_threads.discard)
        return working

    def time(self) -> float:
        return self._moment

    def add_reader(self, *_: object) -> None:
        raise NotImplementedError("its clock would run ahead while waiting for a socket")

    def _pass(self, seconds: float) -> None:
        self._moment += seconds


class AdvancingClock(asyncio.SelectorEventLoop):
    """Real time, which any thread can advance."""

    def __init__(self) -> None:
        self._ahead = 0.0
        super().__init__()

    def time(self) -> float:
        return super().time() + self._ahead

    def advance(self, seconds: float) -> None:
        def pass_now() -> None:
            self._ahead += seconds

        self.call_soon_threadsafe(pass_now)


def run_advancing(main: Callable[[AdvancingClock], Awaitable[Answer]]) -> Answer:
    """Run `main` on a loop whose clock can be advanced; `main` gets that loop."""
    loop = AdvancingClock()

    async def run() -> Answer:
        return await main(loop)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(run())
