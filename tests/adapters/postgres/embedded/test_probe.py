"""A build of pgvector that crashes on this processor disables the dense leg, not the start."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from recollect.adapters.postgres.embedded import EmbeddedPostgres

pytestmark = pytest.mark.slow

Embed = Callable[..., EmbeddedPostgres]


def crash(url: str) -> None:
    """Crash the backend, as an instruction that this processor lacks would."""
    with psycopg.connect(url) as connection:
        os.kill(connection.info.backend_pid, signal.SIGILL)
        connection.execute("select pg_sleep(60)")


def fail_if_asked(url: str) -> None:
    raise AssertionError("the verdict is known")


def test_halfvec_is_found_to_work_here(embed: Embed, installation: Path) -> None:
    embedded = embed()
    assert embedded.verdict.available, embedded.verdict.reason
    kept = json.loads((installation / "probe.json").read_text())
    assert (kept["available"], kept["postgres"], kept["pgvector"]) == (True, "18.1", "0.8.5")


def test_a_crashing_build_starts_without_the_extension(
    embed: Embed, home: Path, installation: Path
) -> None:
    own = home / "own installation"
    copy_of(installation, own)
    embedded = embed(installation=own, probe=crash)
    with embedded as url, psycopg.connect(url) as connection:
        extensions = connection.execute("select extname from pg_extension").fetchall()
    assert ("vector",) not in extensions
    assert not embedded.verdict.available
    assert "signal 4: Illegal instruction" in embedded.verdict.reason

    assert not embed(installation=own, probe=fail_if_asked).verdict.available
    kept = json.loads((own / "probe.json").read_text())
    (own / "probe.json").write_text(json.dumps({**kept, "processor": "another one"}))
    with embed(installation=own) as url, psycopg.connect(url) as connection:
        assert connection.execute("select '[1,0]'::halfvec <=> '[0,1]'::halfvec").fetchone() == (1,)


@pytest.mark.parametrize("damage", ["", "{", "{}", "[]", '{"available": true}'])
def test_a_damaged_verdict_is_asked_for_again(
    embed: Embed, home: Path, installation: Path, damage: str
) -> None:
    own = home / "own"
    copy_of(installation, own)
    (own / "probe.json").write_text(damage)
    asked: list[str] = []
    assert embed(installation=own, probe=asked.append).verdict.available
    assert len(asked) == 1


def copy_of(installation: Path, own: Path) -> None:
    """Copy the installation (by symbolic links to its binaries) without its verdict."""
    own.mkdir(parents=True)
    own.chmod(0o711)
    own.parent.chmod(0o711)
    (tree,) = installation.glob("pg0-*")
    (own / tree.name).symlink_to(tree)
