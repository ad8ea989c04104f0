"""The former names of projects, and how a project gets another name."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from recollect.adapters.sql.session import Session

FORMER: Final = "select name, project from former_names where owner = :owner"
# In the order in which everyone locks memories, where writers do not take turns.
_LOCK: Final = """
select m.id from memories m where m.owner = :owner and m.project = :old order by m.id $for_update
"""
_MOVE: Final = """
update memories set project = :new, version = version + 1, updated_at = :at, changed_by = :by
where owner = :owner and project = :old
"""
# A name that is in use again is no former one.
_FORGET: Final = "delete from former_names where owner = :owner and (name = :old or name = :new)"
_FOLLOW: Final = """
update former_names set project = :new where owner = :owner and project = :old
"""
_KEEP: Final = "insert into former_names (owner, name, project) values (:owner, :old, :new)"


async def rename(
    session: Session, owner: str, old: str, new: str, by: str | None, at: datetime
) -> int:
    names = {"owner": owner, "old": old, "new": new}
    await session.fetch(_LOCK, {"owner": owner, "old": old})
    moved = await session.execute(_MOVE, {**names, "by": by, "at": at})
    for statement in (_FORGET, _FOLLOW, _KEEP):
        await session.execute(statement, names)
    return moved
