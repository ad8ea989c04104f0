"""The part of `make demo` that needs no server; the rest starts one with its own Postgres."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.waiting import SECONDS

EXAMPLES = Path(__file__).parents[2] / "examples"
CODE = "import sys; from pathlib import Path; from local import show_local_store as show; "
CODE += "show(*map(Path, sys.argv[1:]))"


def test_local_part_finds_an_answer_that_shares_no_word(
    models_folder: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "alone"), str(models_folder)],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    by_words, by_meaning = done.stdout.split("--no-dense")[1].split("$ recollect")
    assert "nothing found" in by_words
    found = " ".join(by_meaning.split())
    assert "Deployments go out with make release." in found
    assert "dense found 3" in found
