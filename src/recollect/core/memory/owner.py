"""What an owner may be called: one rule for the environment, the command line and keys.

A blank name is nobody's. It comes of a variable that is not set, and must not open, or fill, the
memories of whoever is the default.
"""

from __future__ import annotations

from typing import Final

from recollect.core.errors import InvalidInput
from recollect.core.text.analysis import unstorable

MAX_NAME: Final = 200


def check_owner(name: str, *, field: str = "owner") -> None:
    """InvalidInput when nobody can be called so; `field` is where the name was given."""
    if not name.strip() or len(name) > MAX_NAME or unstorable(name) is not None:
        raise InvalidInput(
            f"{field} cannot be {name!r:.60}",
            field=field,
            remedy=f"Give a name of up to {MAX_NAME} characters of valid text.",
        )
