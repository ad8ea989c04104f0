"""Which project a repository is, by the address of its remote.

One repository is cloned in many places and by many spellings; its memories belong together in all
of them. So the name keeps what the spellings have in common, host and path, and nothing else: no
scheme, no port, no user, and above all no token that somebody put into the address.
"""

from __future__ import annotations

import re
from typing import Final

_WITH_SCHEME: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[^/]*@)?(?P<host>\[[^\]]*\]|[^/:]*)(?::[0-9]*)?/(?P<path>.*)",
    re.IGNORECASE | re.DOTALL,
)
# git@host:path, without a scheme. A Windows drive is one letter, and no host.
_SCP: Final = re.compile(r"(?:[^/@:]+@)?(?P<host>\[[^\]]*\]|[^/:@]{2,}):(?P<path>.*)", re.DOTALL)
_MAX_NAME: Final = 200


def remote_project(url: str) -> str | None:
    """`host/path` in lower case; None when the address is a place on this machine, or no address.

    Lower case throughout, because the large hosts take a path in any case; two repositories of
    one host whose paths differ in nothing else would be one project.
    """
    found = _WITH_SCHEME.fullmatch(url.strip()) or _SCP.fullmatch(url.strip())
    if found is None:
        return None
    host = found["host"].lower().rstrip(".")
    parts = [part for part in found["path"].split("/") if part not in ("", ".")]
    if not host or not parts or found.groupdict().get("scheme", "").lower() == "file":
        return None
    parts[-1] = parts[-1].removesuffix(".git") or parts[-1]
    # Where a host keeps its repositories below the home of its users, ~ is part of the spelling.
    name = "/".join((host, *parts)).lower()
    return _printable(name)[:_MAX_NAME]


def folder_project(name: str, digest: str) -> str:
    """The project of a repository without a remote: its folder's name, and some digits of the
    path's digest, since two folders may have one name.
    """
    return f"{_printable(name)[:_MAX_NAME] or 'folder'}-{digest[:8]}"


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable()).strip()
