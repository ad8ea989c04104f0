"""The folder for what is made of a user's own memories: for its owner's eyes only, and not git's.

Evaluation data is the kind of file that people commit and share. This one quotes memories, so it
lies where no `git add` reaches it, and the folder ignores itself should it ever be moved.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from recollect.adapters.files.home_files import own_benchmark_folder
from recollect.core.errors import InvalidInput


def private_folder(home: Path) -> Path:
    """The folder below this home, made if need be. Refused when it lies in a git work tree, or
    when throw-away copies of the memories would.
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
    """InvalidInput when git keeps the folder or one above it."""
    place = folder.resolve()
    for part in (place, *place.parents):
        # A folder, or in a linked work tree or a submodule a file.
        if (part / ".git").exists():
            raise InvalidInput(
                f"{folder} is in a git work tree ({part}): memories could be committed",
                field="RECOLLECT_HOME",
                remedy="Move RECOLLECT_HOME and the temporary directory (TMPDIR) out of the "
                "work tree.",
            )


def write_private(file: Path, text: str) -> None:
    """Write the whole file or nothing of it, readable by its owner alone."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # made as 0600
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
