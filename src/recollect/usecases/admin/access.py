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
    """What a key may do. `spend_writes` counts writes; RateLimited when there are too many."""

    key: Key
    spend_writes: Callable[[int], None]

    @property
    def is_limited(self) -> bool:
        """To a project."""
        return self.key.project is not None

    def check(self, operation: str, writes: int | None = None) -> None:
        """Forbidden if the key may not carry out the operation; RateLimited. `writes` is how many
        writes it makes, where that differs from call to call.
        """
        policy = check_operation(self.key, operation)
        self.spend_writes(policy.writes if writes is None else writes)

    def confine_scope(self, scope: Scope) -> Scope:
        """The scope inside the key's project; Forbidden if it names another one."""
        return scope if self.key.project is None else scope_within(scope, self.key.project)

    def confine_draft(self, draft: Draft) -> Draft:
        """A new memory goes into the key's project unless another one is named."""
        project = self.key.project
        if project is None:
            return draft
        if (draft.project or "").strip():
            check_project(draft.project, project)
        return replace(draft, project=project)

    def confine_item(self, item: BatchItem) -> BatchItem:
        """One of another project is refused; the others of its batch are stored."""
        if isinstance(item, InvalidInput):
            return item
        try:
            return self.confine_draft(item)
        except Forbidden as error:
            return InvalidInput(str(error), field="project", remedy=error.remedy)

    def confine_changes(self, changes: Changes) -> Changes:
        """A memory stays in the key's project."""
        project = self.key.project
        if project is None or "project" not in changes:
            return changes
        check_project(changes["project"], project)
        return {**changes, "project": project}
