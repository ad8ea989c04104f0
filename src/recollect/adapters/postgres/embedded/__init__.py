"""A Postgres server of Recollect's own, so that a newcomer needs no database.

    with EmbeddedPostgres(home) as url:
        ...

See `embedded.py` for the life of the server, `cluster.py` for its configuration, `locations.py` for
where its files are. Windows has neither flock nor Unix accounts: import this package only when the
embedded server is requested.
"""

import sys

from recollect.adapters.postgres.embedded.errors import (
    OWN_SERVER,
    EmbeddedPostgresError,
    PlatformUnsupported,
)

if sys.platform == "win32":
    raise PlatformUnsupported(
        "The embedded Postgres does not run on Windows.",
        remedy=f"Use WSL, or {OWN_SERVER}.",
    )

from recollect.adapters.postgres.embedded.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.installation import Verdict, probe_halfvec

__all__ = [
    "EmbeddedPostgres",
    "EmbeddedPostgresError",
    "PlatformUnsupported",
    "Verdict",
    "probe_halfvec",
]
