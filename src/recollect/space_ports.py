"""What the use cases need to change the spaces of a database: a port like those of `ports.py`, in a
file of its own because little but a change of the model asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from recollect.core.space import Gap, Space, StoredSpace


class Spaces(Protocol):
    """The spaces, of which recall asks the active one. Whoever is killed in a method can call it
    again.
    """

    async def spaces(self) -> list[StoredSpace]:
        """All spaces, oldest first."""

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        """The space, made when it is not there: active when no other is, else filling. One that
        was retired is filling again.
        """

    async def build_index(self, space: StoredSpace) -> None:
        """Make a full space fast to ask, without holding up anybody."""

    async def gap(self, space: StoredSpace) -> Gap:
        """What recall would lose if it asked this space now."""

    async def activate(self, space: StoredSpace) -> None:
        """From the next request on this space is asked. The one before it is retired and becomes
        the former one; whichever was that is given up. All of it or nothing, and nothing when the
        space is active already.
        """

    async def retire(self, space: StoredSpace) -> None:
        """Fill the former space no longer; it is kept for the way back as it was before."""

    async def drop_space(self, space: StoredSpace) -> None:
        """Give up a space that is not active and remove it with its vectors. Killed on the way it
        stays given up, and can be removed again. Conflict when `space` was seen given up and
        somebody has opened it since.
        """
