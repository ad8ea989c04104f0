"""Read git's own files: where the repository of a folder is, and its remote.

They are read without running `git`: starting a process costs a hook a tenth of its budget, and git
may not be installed. Only the plain form that git writes is supported, not `include` or
`insteadOf`; for a repository that needs these, set RECOLLECT_PROJECT.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from recollect.core.memory.project import folder_project, remote_project

_SECTION: Final = re.compile(r'\s*\[\s*remote\s+"(?P<name>[^"]*)"\s*\]', re.IGNORECASE)
_URL: Final = re.compile(r"\s*url\s*=\s*(?P<url>.*?)\s*", re.IGNORECASE)
# A clone of a local clone belongs to the project of the original; clones in a circle to none.
_MAX_CLONES: Final = 5
_MAX_FILE: Final = 1_000_000


def repository_project(folder: Path, clones: int = _MAX_CLONES) -> str | None:
    """Return the project of the repository that contains a folder; None if there is none. Never
    raises because of files on disk: unreadable ones are ignored.
    """
    try:
        root = _common_folder(folder)
        if root is None:
            return None
        url = _remote(_text(root / "config"))
        if url and (named := remote_project(url)) is not None:
            return named
        if url and clones:
            # Another repository on this machine: its clones share its project.
            path = url.removeprefix("file://")
            origin = repository_project((root.parent / path).resolve(), clones - 1)
            if origin is not None:
                return origin
        import hashlib  # late: not needed if there is a remote, and a hook has no time to spare

        home = root.parent if root.name == ".git" else root
        return folder_project(
            home.name.removesuffix(".git"), hashlib.sha256(os.fsencode(home)).hexdigest()
        )
    except (OSError, ValueError):
        return None


def _common_folder(folder: Path) -> Path | None:
    """Return the folder that all working trees share: `.git`, or the bare repository."""
    start = folder.resolve()
    for place in (start, *start.parents):
        if (place / "HEAD").is_file() and (place / "config").is_file():
            return place  # inside `.git`, or in a bare repository
        git = place / ".git"
        if git.is_dir():
            return git
        if git.is_file():  # a linked working tree, or a submodule
            found = (place / _text(git).removeprefix("gitdir:").strip()).resolve()
            common = found / "commondir"
            return (found / _text(common).strip()).resolve() if common.is_file() else found
    return None


def _remote(config: str) -> str | None:
    """Return the URL of `origin`, or else of the first remote."""
    urls: dict[str, str] = {}
    section: str | None = None
    for line in config.splitlines():
        if line.lstrip().startswith("["):
            found = _SECTION.match(line)
            section = None if found is None else found["name"]
        elif section is not None and (entry := _URL.fullmatch(line)) is not None:
            urls.setdefault(section, entry["url"].strip('"'))
    return urls.get("origin") or next(iter(urls.values()), None)


def _text(file: Path) -> str:
    """Read a file if it is a regular one: opening a pipe would block."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return stream.read(_MAX_FILE).decode("utf-8", "replace")
