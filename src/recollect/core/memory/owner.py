"""Valid names of owners: one rule for the environment, the command line and keys.

A blank name belongs to no one. It comes from an unset variable, and must not open, or fill, the
memories of the default owner.
"""

from __future__ import annotations

from typing import Final

from recollect.core.errors import InvalidInput
from recollect.core.text.analysis import find_unstorable

MAX_NAME: Final = 200


def check_owner(name: str, *, field: str = "owner") -> None:
    """InvalidInput for an invalid owner name; `field` is where the name was given."""
    if not name.strip() or len(name) > MAX_NAME or find_unstorable(name) is not None:
        raise InvalidInput(
            f"{field} cannot be {name!r:.60}",
            field=field,
            remedy=f"Use a name of up to {MAX_NAME} characters of valid text.",
        )
