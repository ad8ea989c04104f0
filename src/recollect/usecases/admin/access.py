"""The limits of a key while it is used: its role, its project, and how often it may write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from recollect.core.errors import Forbidden, InvalidInput
from recollect.core.memory.batch import BatchItem
from recollect.core.memory.memory import Changes, Draft, Scope
from recollect.core.privacy.keys import Key
from recollect.core.privacy.policy import check_operation, check_project, scope_within


@dataclass(frozen=True, slots=True)
class Access:
    """What a key may do. `spend_writes` counts writes, and raises RateLimited if there are too
    many.
    """

    key: Key
    spend_writes: Callable[[int], None]

    @property
    def is_limited(self) -> bool:
        """Whether the key is limited to a project."""
        return self.key.project is not None

    def check(self, operation: str, writes: int | None = None) -> None:
        """Raise Forbidden if the key may not carry out the operation, RateLimited if it has written
        too much. `writes` is the number of writes, for operations where it varies.
        """
        policy = check_operation(self.key, operation)
        self.spend_writes(policy.writes if writes is None else writes)

    def confine_scope(self, scope: Scope) -> Scope:
        """Narrow the scope to the key's project; raise Forbidden if it names another one."""
        return scope if self.key.project is None else scope_within(scope, self.key.project)

    def confine_draft(self, draft: Draft) -> Draft:
        """Put a new memory into the key's project; raise Forbidden if it names another one."""
        project = self.key.project
        if project is None:
            return draft
        if (draft.project or "").strip():
            check_project(draft.project, project)
        return replace(draft, project=project)

    def confine_item(self, item: BatchItem) -> BatchItem:
        """Confine one item of a batch. An item of another project becomes an InvalidInput, so that
        the rest of the batch is stored.
        """
        if isinstance(item, InvalidInput):
            return item
        try:
            return self.confine_draft(item)
        except Forbidden as error:
            return InvalidInput(str(error), field="project", remedy=error.remedy)

    def confine_changes(self, changes: Changes) -> Changes:
        """Raise Forbidden if the changes would move a memory out of the key's project."""
        project = self.key.project
        if project is None or "project" not in changes:
            return changes
        check_project(changes["project"], project)
        return {**changes, "project": project}
