"""Present one project of an owner as the whole store, for keys that are limited to it.

The use cases run unchanged on a store that shows, counts and changes only the memories of this
project. Anything outside is not found, like another owner's memories.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from recollect.core.admin.stats import Stats
from recollect.core.errors import InvalidInput
from recollect.core.memory.duplicates import PlacedText
from recollect.core.memory.ids import IdPart
from recollect.core.memory.links import from_values
from recollect.core.memory.listing import Cursor, Listing, Table
from recollect.core.memory.memory import Memory, Scope
from recollect.core.privacy.policy import outside, scope_within
from recollect.core.recall.request import Candidate
from recollect.core.recall.settings import WordQuery
from recollect.core.recall.successors import AsOf, Fetched, Resolution
from recollect.core.sync.model import (
    Answer,
    ChangePage,
    Decision,
    Outgoing,
    Peer,
    Refusal,
    Remote,
    RemoteRevision,
    Revision,
    State,
)
from recollect.ports.stores import MemoryStore
from recollect.ports.sync import ChangeStore, Decide
from recollect.usecases.context import Context, no_hint


def context_within(context: Context, changes: ChangeStore, project: str) -> Context:
    """Return the context for one project. It has no second phase, since a graph walk crosses
    projects, and no count that covers more than this project.
    """
    inside = ProjectStore(context.store, project)
    return replace(
        context,
        store=inside,
        check_links=inside.check_links,
        revisions=ProjectChanges(changes, context.store, project),
        second_phase={},
        queue=None,
        graph_progress=None,
        curation_counts=None,
        concepts_of=None,
        hint=no_hint,
    )


@dataclass(frozen=True, slots=True)
class ProjectStore:
    """Implements the `MemoryStore` port for one project of another store."""

    store: MemoryStore
    project: str

    async def add(self, memory: Memory) -> None:
        await self.store.add(self._check(memory))

    async def add_all(self, memories: Sequence[Memory]) -> set[UUID]:
        return await self.store.add_all([self._check(memory) for memory in memories])

    async def add_unless_known(self, memory: Memory) -> Memory | None:
        return await self.store.add_unless_known(self._check(memory))

    async def find_same(self, memories: Sequence[Memory]) -> dict[UUID, Memory]:
        return await self.store.find_same([self._check(memory) for memory in memories])

    async def find_removed(
        self, owner: str, texts: Collection[PlacedText]
    ) -> dict[PlacedText, datetime]:
        inside = [text for text in texts if text[0] == self.project]
        return await self.store.find_removed(owner, inside)

    async def get(self, owner: str, id: UUID) -> Memory | None:
        memory = await self.store.get(owner, id)
        return memory if memory is not None and memory.project == self.project else None

    async def get_many(
        self, owner: str, ids: Collection[UUID], *, forgotten: bool = False
    ) -> dict[UUID, Memory]:
        found = await self.store.get_many(owner, ids, forgotten=forgotten)
        return {id: memory for id, memory in found.items() if memory.project == self.project}

    async def versions(self, owner: str, id: UUID) -> list[Memory]:
        if await self.get(owner, id) is None:
            return []
        found = await self.store.versions(owner, id)
        return [memory for memory in found if memory.project == self.project]

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
        found = await self.store.fetch(owner, ids, as_of)
        memories = await self._drop_outside(owner, found.memories.values(), as_of)
        return Fetched(memories, found.superseded & memories.keys())

    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Resolution:
        found = await self.store.follow(owner, old, named, as_of)
        return found._replace(
            memories=await self._drop_outside(owner, found.memories.values(), as_of)
        )

    async def ids_with_prefix(
        self,
        owner: str,
        prefix: IdPart,
        limit: int,
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        if project not in (None, self.project):
            return []
        return await self.store.ids_with_prefix(
            owner, prefix, limit, forgotten=forgotten, project=self.project
        )

    async def ids_with_endings(
        self,
        owner: str,
        endings: Collection[str],
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        if project not in (None, self.project):
            return []
        return await self.store.ids_with_endings(
            owner, endings, forgotten=forgotten, project=self.project
        )

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        if await self.get(memory.owner, memory.id) is None:
            return False
        return await self.store.replace(self._check(memory), based_on=based_on)

    async def erase(self, owner: str, id: UUID) -> bool:
        return await self.get(owner, id) is not None and await self.store.erase(owner, id)

    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        return await self.store.page(owner, scope_within(scope, self.project), after, limit)

    async def table(self, owner: str, listing: Listing) -> Table:
        scope = scope_within(listing.scope, self.project)
        return await self.store.table(owner, replace(listing, scope=scope))

    async def change_mark(self, owner: str) -> object:
        """Computed from the project's own rows: changes in other projects do not show."""
        everything = Scope(self.project, forgotten=True)
        found = await self.store.table(owner, Listing(everything, sort_by="updated", limit=1))
        return found.total, [(memory.id, memory.updated_at) for memory in found.memories]

    async def growth(self, owner: str, since: date, project: str | None = None) -> dict[date, int]:
        if project not in (None, self.project):
            return {}
        return await self.store.growth(owner, since, self.project)

    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        return await self.store.search_words(owner, scope_within(scope, self.project), query)

    async def projects(self, owner: str) -> list[str]:
        return [project for project in await self.store.projects(owner) if project == self.project]

    async def former_names(self, owner: str) -> Mapping[str, str]:
        found = await self.store.former_names(owner)
        return {name: project for name, project in found.items() if project == self.project}

    async def rename_project(
        self,
        owner: str,  # noqa: ARG002  # the port's
        old: str,  # noqa: ARG002  # as above
        new: str,  # noqa: ARG002  # as above
        *,
        by: str | None,  # noqa: ARG002  # as above
        at: datetime,  # noqa: ARG002  # as above
    ) -> int:
        raise outside(self.project)

    async def stats(self, owner: str, project: str | None = None) -> Stats:
        if project not in (None, self.project):
            return Stats(0, 0, 0)
        return await self.store.stats(owner, self.project)

    async def check_links(
        self, owner: str, targets: Collection[UUID], pending: Collection[UUID] = ()
    ) -> None:
        """Raise InvalidInput unless all targets are in this project: a link can hide a memory from
        its owner, even one that is stored or moved later.
        """
        if elsewhere := await self.find_outside(owner, targets, pending):
            raise InvalidInput(
                f"no memory {min(elsewhere)} in the project {self.project!r}, to which this key is"
                " limited",
                field="links",
                remedy="Link to memories of this project.",
            )

    async def find_outside(
        self, owner: str, ids: Collection[UUID], pending: Collection[UUID]
    ) -> set[UUID]:
        """Return the ids that are not in the project. Those that are `pending` and not stored yet
        count as inside: they are part of the same write.
        """
        found = await self.store.get_many(owner, ids, forgotten=True) if ids else {}
        inside = {id for id, memory in found.items() if memory.project == self.project}
        return {*ids} - inside - ({*pending} - found.keys())

    def _check(self, memory: Memory) -> Memory:
        if memory.project != self.project:
            raise outside(self.project)
        return memory

    async def _drop_outside(
        self, owner: str, memories: Collection[Memory], as_of: AsOf
    ) -> dict[UUID, Memory]:
        """Drop memories outside the project, including those that have left it since `as_of`."""
        inside = {memory.id: memory for memory in memories if memory.project == self.project}
        if as_of is None:
            return inside
        return {
            id: memory for id, memory in inside.items() if await self.get(owner, id) is not None
        }


def _linked_ids(item: Outgoing) -> set[UUID]:
    links: Any = (item.fields or {}).get("links", ())
    return {link.target for link in from_values(links)}


@dataclass(frozen=True, slots=True)
class ProjectChanges:
    """Implements the `ChangeStore` port for one project of another store."""

    changes: ChangeStore
    store: MemoryStore
    project: str

    async def peer(self, owner: str) -> Peer:
        return await self.changes.peer(owner)

    async def apply(
        self, owner: str, store: UUID, items: Sequence[Outgoing], decide: Decide
    ) -> list[Answer]:
        refused = Refusal(
            f"the key is limited to the project {self.project!r}", outside(self.project).remedy
        )
        linked = {target for item in items for target in _linked_ids(item)}
        inside = ProjectStore(self.store, self.project)
        elsewhere = await inside.find_outside(owner, linked, [item.id for item in items])

        def decide_inside(item: Outgoing, current: Remote | None) -> Decision | None:
            decision = decide(item, current)
            is_outside = current is not None and self._is_outside(current)
            if isinstance(decision, State):
                state = None if current is None else current.state
                before = () if state is None else state.memory.links
                added = {link.target for link in {*decision.memory.links} - {*before}}
                is_outside |= decision.memory.project != self.project or bool(added & elsewhere)
            return refused if is_outside else decision

        answers = await self.changes.apply(owner, store, items, decide_inside)
        return [
            Answer(answer.id, None, answer.refused or refused)
            if answer.remote is not None and self._is_outside(answer.remote)
            else answer
            for answer in answers
        ]

    async def keep_revisions(
        self, owner: str, revisions: Sequence[Revision]
    ) -> list[RemoteRevision]:
        inside = [revision for revision in revisions if await self._is_inside(owner, revision)]
        return await self.changes.keep_revisions(owner, inside)

    async def page(
        self,
        owner: str,
        store: UUID,
        after: int,
        limit: int,
        *,
        sensitive: bool,
        count: bool,  # noqa: ARG002  # the port's
        project: str | None = None,  # noqa: ARG002  # as above
    ) -> ChangePage:
        """Return the changes inside the project. A memory that has left it is no longer reported:
        erasing it from the client would also erase what the client has under other keys. The
        remaining changes are not counted, since that would count other projects.
        """
        page = await self.changes.page(
            owner, store, after, limit, sensitive=sensitive, count=False, project=self.project
        )
        return replace(
            page,
            memories=tuple(memory for memory in page.memories if not self._is_outside(memory)),
            revisions=tuple(
                [
                    revision
                    for revision in page.revisions
                    if await self._is_inside(owner, revision.revision)
                ]
            ),
        )

    async def revisions(self, owner: str) -> list[Revision]:
        found = await self.changes.revisions(owner)
        return [item for item in found if await self._is_inside(owner, item)]

    async def resolve(self, owner: str, revision: Revision) -> None:
        await self.changes.resolve(owner, revision)

    def _is_outside(self, remote: Remote) -> bool:
        return remote.state is not None and remote.state.memory.project != self.project

    async def _is_inside(self, owner: str, revision: Revision) -> bool:
        """Whether both the revision's memory and its own values are in the project."""
        if revision.fields.get("project", self.project) != self.project:
            return False
        memory = await self.store.get(owner, revision.memory_id)
        return memory is not None and memory.project == self.project
