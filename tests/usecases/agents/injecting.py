"""What a hook injects for a prompt, with any recall function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recollect.core.recall.relevance import Measure
from recollect.core.recall.request import Hit, RecallRequest
from recollect.usecases.agents.inject import Injection, choose, request_for


def inject(
    find: Callable[[RecallRequest], Sequence[Hit]],
    prompt: str,
    measure: Measure = Measure(),  # noqa: B008  # frozen
) -> Injection:
    request = request_for(prompt, None)
    assert request is not None
    return choose(request.query, find(request), measure)
