"""Read git's own files: where the repository of a folder is, and its remote. Keep which
repositories were seen on this machine, to recognize one under another name.

They are read without running `git`: starting a process costs a hook a tenth of its budget, and git
may not be installed. Only the plain form that git writes is supported, not `include` or
`insteadOf`; for a repository that needs these, set RECOLLECT_PROJECT.
"""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from recollect.core.memory.project import Repository, folder_project, remote_project

_SECTION: Final = re.compile(r'\s*\[\s*remote\s+"(?P<name>[^"]*)"\s*\]', re.IGNORECASE)
_URL: Final = re.compile(r"\s*url\s*=\s*(?P<url>.*?)\s*", re.IGNORECASE)
# A clone of a local clone belongs to the project of the original; clones in a circle to none.
_MAX_CLONES: Final = 5
_MAX_FILE: Final = 1_000_000


def repository_project(folder: Path, clones: int = _MAX_CLONES) -> str | None:
    """Return the project of the repository that contains a folder; None if there is none. Never
    raises because of files on disk: unreadable ones are ignored.
    """
    found = find_repository(folder, clones)
    return None if found is None else found.project


def find_repository(folder: Path, clones: int = _MAX_CLONES) -> Repository | None:
    """The repository that contains a folder, as it is now."""
    try:
        root = _common_folder(folder)
        project = None if root is None else _project(root, clones)
        if root is None or project is None:
            return None
        return Repository(os.fspath(root), _birth(root), project)
    except (OSError, ValueError):
        return None


def _project(root: Path, clones: int) -> str | None:
    """The project of the repository that git keeps in this folder."""
    url = _remote(_text(root / "config"))
    if url and (named := remote_project(url)) is not None:
        return named
    if url and clones:
        # Another repository on this machine: its clones share its project.
        path = url.removeprefix("file://")
        origin = repository_project((root.parent / path).resolve(), clones - 1)
        if origin is not None:
            return origin
    import hashlib  # late: with a remote it is not needed, and a hook has no time to spare

    home = root.parent if root.name == ".git" else root
    return folder_project(
        home.name.removesuffix(".git"), hashlib.sha256(os.fsencode(home)).hexdigest()
    )


def _birth(root: Path) -> int:
    """When git made the repository: it writes this file then, and no one changes it."""
    try:
        return (root / "description").stat().st_mtime_ns
    except OSError:
        return 0


def project_now(known: Repository) -> str | None:
    """The project of a repository, if it is still in its place."""
    root = Path(known.path)
    try:
        if not (root / "config").is_file() or _birth(root) != known.birth:
            return None
        return _project(root, _MAX_CLONES)
    except (OSError, ValueError):
        return None


class KnownRepositories:
    """The repositories that were seen from one home, in a small file; what is lost of it is seen
    again.
    """

    def __init__(self, home: str) -> None:
        self._file = Path(home) / "repositories.json"

    def read(self) -> list[Repository]:
        try:
            return [Repository(*entry) for entry in json.loads(self._file.read_text("utf-8"))]
        except (OSError, ValueError, TypeError):
            return []

    def put(self, seen: Repository, instead_of: Repository | None) -> None:
        """Note how a repository was seen last."""
        same = {(seen.path, seen.birth)}
        if instead_of is not None:
            same.add((instead_of.path, instead_of.birth))
        others = [one for one in self.read() if (one.path, one.birth) not in same]
        new = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        with suppress(OSError):  # a full disk, or one that may only be read
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                new.write_text(json.dumps([*others, seen]), "utf-8")
                new.replace(self._file)
            finally:
                new.unlink(missing_ok=True)


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
