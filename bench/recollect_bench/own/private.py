"""The folder for data derived from a user's own memories: private to its owner, and never in git.

Evaluation data is the kind of file that people commit and share. This data quotes memories, so it
is kept out of git work trees, and the folder contains a `.gitignore` in case it is ever moved.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from recollect.adapters.files.home_files import own_benchmark_folder
from recollect.core.errors import InvalidInput


def private_folder(home: Path) -> Path:
    """Return the folder below this home; create it if needed. Raise InvalidInput if it, or the
    temporary folder with copies of the memories, would be in a git work tree.
    """
    folder = own_benchmark_folder(home)
    for place in (folder, Path(tempfile.gettempdir())):
        _refuse_work_tree(place)
    for part in (home, folder.parent, folder):
        part.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    write_private(folder / ".gitignore", "*\n")
    return folder


def _refuse_work_tree(folder: Path) -> None:
    """Raise InvalidInput if the folder is in a git work tree."""
    place = folder.resolve()
    for part in (place, *place.parents):
        # `.git` is a folder; in a linked work tree or a submodule it is a file.
        if (part / ".git").exists():
            raise InvalidInput(
                f"{folder} is in a git work tree ({part}): memories could be committed",
                field="RECOLLECT_HOME",
                remedy="Move RECOLLECT_HOME and the temporary directory (TMPDIR) out of the "
                "work tree.",
            )


def write_private(file: Path, text: str) -> None:
    """Write the file atomically, readable by its owner alone."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # mode 0600
    written = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        written.replace(file)
    except BaseException:
        written.unlink(missing_ok=True)
        raise
