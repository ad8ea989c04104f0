"""Import memories into a server without a local copy, through the sync API: a write that is based
on nothing keeps its id, its dates and its version, and repeating it has no effect.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from recollect.adapters.http.sync import RemoteSync
from recollect.core.imports.jsonl import ImportResult, import_result, to_line
from recollect.core.memory.memory import Memory
from recollect.core.sync.model import Answer, Outgoing, Remote, State

# A server accepts bodies of up to a megabyte; a character may take six bytes.
_MAX_BYTES: Final = 600_000
_MAX_ITEMS: Final = 200


class RemoteImport:
    """`mark` identifies the importer, so that an edit is recognised when it is sent again."""

    def __init__(self, server: RemoteSync, mark: str, *, is_here: bool) -> None:
        self._server = server
        self._store = _uuid(mark, "store")
        self._is_here = is_here

    async def __call__(self, memories: Sequence[Memory]) -> list[ImportResult]:
        outcomes: list[ImportResult] = []
        for batch in _batches(memories):
            if batch[0].is_sensitive and not self._is_here:
                outcomes += map(_refuse_sensitive, batch)
                continue
            items = {memory.id: self._outgoing(memory) for memory in batch}
            known = await self._fetch_known(items)
            pushed = await self._server.push(self._store, list(items.values()), [])
            answers = {answer.id: answer for answer in pushed.answers}
            outcomes += [
                _outcome(
                    memory, answers.get(memory.id), items[memory.id], was_there=memory.id in known
                )
                for memory in batch
            ]
        return outcomes

    async def current(self, memories: Sequence[Memory]) -> dict[UUID, Memory]:
        """Return what the server has under the ids of these memories."""
        found: dict[UUID, Memory] = {}
        for batch in _batches(memories):
            for remote in (
                await self._fetch_known({memory.id: self._outgoing(memory) for memory in batch})
            ).values():
                if remote.state is not None:
                    found[remote.id] = remote.state.memory
        return found

    async def _fetch_known(self, items: dict[UUID, Outgoing]) -> dict[UUID, Remote]:
        """Read what the server had before, with writes that change nothing."""
        looks = [
            Outgoing(item.id, item.edit, 0, 1, {}, item.created_at, item.updated_at)
            for item in items.values()
        ]
        pushed = await self._server.push(self._store, looks, [])
        return {answer.id: answer.remote for answer in pushed.answers if answer.remote is not None}

    def _outgoing(self, memory: Memory) -> Outgoing:
        edit = _uuid(str(self._store), to_line(memory))
        fields = State(memory).fields
        return Outgoing(
            memory.id, edit, 0, memory.version, fields, memory.created_at, memory.updated_at
        )


def _outcome(
    memory: Memory, answer: Answer | None, item: Outgoing, *, was_there: bool
) -> ImportResult:
    if answer is None or (answer.remote is None and answer.refused is None):
        return ImportResult(memory.id, "refused", "the server did not store it", "Try again.")
    if answer.refused is not None:
        return ImportResult(memory.id, "refused", answer.refused.reason, answer.refused.remedy)
    remote = answer.remote
    if remote is None or remote.is_erased:
        reason = "it was erased on the server, and stays so"
        return ImportResult(memory.id, "refused", reason, "Store the text again under a new id.")
    if not was_there and remote.edit == item.edit:
        return ImportResult(memory.id, "new")
    return (
        ImportResult(memory.id, "kept")
        if remote.state is None
        else import_result(memory, remote.state.memory)
    )


def _refuse_sensitive(memory: Memory) -> ImportResult:
    return ImportResult(
        memory.id,
        "refused",
        "a sensitive memory stays on this machine, and the server is on another",
        "Unset RECOLLECT_API_URL to keep it in the local store.",
    )


def _batches(memories: Sequence[Memory]) -> Iterator[list[Memory]]:
    """Yield batches in order, none too large for a server, with sensitive memories separate."""
    batch: list[Memory] = []
    size = 0
    for memory in memories:
        length = len(json.dumps(to_line(memory)))
        is_full = size + length > _MAX_BYTES or len(batch) == _MAX_ITEMS
        if batch and (is_full or memory.is_sensitive != batch[0].is_sensitive):
            yield batch
            batch, size = [], 0
        batch.append(memory)
        size += length
    if batch:
        yield batch


def _uuid(*parts: str) -> UUID:
    """Return a UUID that is always the same for the same words."""
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return UUID(bytes=hashlib.sha256(text).digest()[:16], version=4)
